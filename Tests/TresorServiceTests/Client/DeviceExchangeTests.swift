// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorService

    /// A second machine by a typed code, at a service (SPEC §8.6).
    @Suite(.overEveryEngine) struct ServiceDeviceExchangeTests {
        private func arrive(_ stage: ServiceStage, _ handover: DeviceHandover, _ home: MemoryHome) async throws
            -> DeviceArrival
        {
            let code = try DeviceCode(typed: handover.code)
            return try await DeviceArrival.begin(stage.client(of: home), code: code)
        }

        @Test func aSecondMachineWorksAtTheService() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            _ = try await anna.create("plans")
            let copies = try await stage.escrow().copies
            let handover = try await DeviceHandover.open(anna)
            let home = MemoryHome()
            let arrival = try await arrive(stage, handover, home)
            let offer = try await handover.offer()
            try await handover.answer(offer)
            let received = try await arrival.answer()
            let secret = try Password("the password of the desk")
            let session = try await arrival.install(received, newPassword: secret, cost: .floor)
            await arrival.acknowledge(received, as: session)
            let ending = try await handover.ending()
            #expect(ending == .taken)
            await handover.close()
            #expect(try await stage.escrow().copies == copies)
            #expect(try await session.allTresors().count == 1)
            #expect(try await anna.allTresors().count == 1)
            #expect(try home.read(.knownServices) == anna.client.home.read(.knownServices))
        }

        /// The reply to the offer is lost, and the service cannot be reached for a while.
        @Test func anOfferWhoseReplyIsLostStandsAtTheService() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let handover = try await DeviceHandover.open(anna)
            let process = stage.process { number in
                switch number {
                case 1: .losingAnswer
                case 2..<7: .unreachable
                default: nil
                }
            }
            let client = Client(home: MemoryHome(), store: process.store, clock: stage.bench.clock.read)
            var wait = DeviceWait()
            wait.pause = { _ in }
            let code = try DeviceCode(typed: handover.code)
            let arrival = try await DeviceArrival.begin(client, code: code, waiting: wait)
            #expect(process.transport.sent.count > 7)
            let offer = try await handover.offer()
            #expect(offer.number == arrival.number)
            await handover.close()
        }

        @Test func A161_anotherMachineOfThePersonEndsAnExchangeWithoutAReceipt() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let handover = try await DeviceHandover.open(anna)
            _ = try await arrive(stage, handover, MemoryHome())
            try await handover.answer(try await handover.offer())
            // A person has one mailbox: a home that opens another one takes the first away.
            let other = DeviceMailbox(until: handover.until)
            try await anna.client.store.putKitCopy(other.bytes, locator: .zero)
            let ending = try await handover.ending()
            #expect(ending == .gone)
            await handover.close()
        }

        @Test func A161_anotherMachineIsRefusedByTheService() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let handover = try await DeviceHandover.open(anna)
            _ = try await arrive(stage, handover, MemoryHome())
            let late = MemoryHome()
            await #expect(throws: TresorError.unverified) { _ = try await arrive(stage, handover, late) }
            await handover.close()
            await #expect(throws: TresorError.notFound) { _ = try await arrive(stage, handover, late) }
            #expect(late.read(.identity) == nil)
        }

        /// The machine was killed; its next session deletes the mailbox.
        @Test func aKilledExchangeLeavesNothingAtTheService() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let copies = try await stage.escrow().copies
            var handover: DeviceHandover? = try await DeviceHandover.open(anna)
            #expect(try await stage.escrow().copies == copies + 1)
            #expect(handover != nil)
            handover = nil
            try await stage.again(anna).client.cleanup.finish()
            #expect(try await stage.escrow().copies == copies)
        }
    }
#endif
