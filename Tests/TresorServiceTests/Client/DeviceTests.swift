// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// The sessions of a person name the trusted device on which they began.
    @Suite struct ServiceDeviceTests {
        /// Somebody who trusts this device, and who works on it with a session of their own.
        private func stage() async throws -> (stage: ServiceStage, elsewhere: Session, here: Session, device: DeviceID)
        {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            try await anna.unlocking.changePassword(to: Password("the password of anna"), cost: .floor)
            let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            // Another home of the same person.
            let other = MemoryHome()
            try other.replace(.identity, with: try #require(try anna.client.home.read(.identity)))
            let elsewhere = Session(client: stage.client(of: other), identity: anna.identity)
            return (stage, elsewhere, stage.again(anna), device.id)
        }

        @Test func A124_aSessionEndsWithItsDevice() async throws {
            let (stage, elsewhere, here, device) = try await stage()
            _ = try await here.create("plans")
            try await elsewhere.unlocking.revokeDevices([device])
            for _ in 0..<3 { await #expect(throws: TresorError.noAccess) { _ = try await here.allTresors() } }
            #expect(try await elsewhere.allTresors().count == 1)
            await #expect(throws: TresorError.noAccess) {
                _ = try await stage.client(of: here.client.home).device.unlock()
            }
            // The password still opens the identity there, and a session of its own begins without the device.
            let again = try await here.client.unlock(password: Password("the password of anna"))
            #expect(try await again.allTresors().count == 1)
            await #expect(throws: TresorError.noAccess) { _ = try await here.allTresors() }
        }

        /// A service that has lost its server shares tells the era that it began only without the device.
        @Test func aServiceThatTrustsNoDeviceTakesThePassword() async throws {
            let (stage, _, here, _) = try await stage()
            _ = try await here.create("plans")
            try await stage.bench.service.distrust(operator: nil)
            let client = stage.client(of: here.client.home)
            await #expect(throws: TresorError.noAccess) { _ = try await client.device.unlock() }
            let again = try await client.unlock(password: Password("the password of anna"))
            #expect(try await again.allTresors().count == 1)
        }

        /// A person who removes their own device goes on, without it.
        @Test func aPersonWhoRemovesThisDeviceGoesOn() async throws {
            let (_, _, here, device) = try await stage()
            _ = try await here.create("plans")
            try await here.unlocking.revokeDevices([device])
            #expect(try await here.allTresors().count == 1)
            _ = try await here.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            #expect(try await here.allTresors().count == 1)
            try await here.client.device.forget()
            #expect(try await here.allTresors().count == 1)
        }

        /// A clock that is off is mended first, and costs no device.
        @Test func aClockThatIsOffLeavesTheDeviceNamed() async throws {
            let (stage, _, here, device) = try await stage()
            let clock = stage.bench.clock.now - 900
            let transport = LoopbackTransport(into: stage.bench.service, clock: stage.bench.clock.read)
            let client = Client(
                home: here.client.home, store: HTTPStore(ServiceClient(over: transport, clock: { clock })),
                clock: { clock })
            _ = try await Session(client: client, identity: here.identity).allTresors()
            let last = try #require(transport.sent.last?.authorization)
            #expect(try Authorization(last).statement.device == device)
        }
    }
#endif
