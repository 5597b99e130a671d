// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The people who draw on the requests of a person.
    @Suite(.overEveryEngine) struct NewestKeysTests {
        private static let elsewhere: [UInt8] = [192, 0, 2, 1]

        private static func from(_ source: [UInt8], _ call: ServiceCall) -> ServiceCall {
            ServiceCall(operation: call.operation, body: call.body, authorization: call.authorization, source: source)
        }

        /// A person who has new keys since.
        private func renewed(_ anna: Signer, on bench: Bench) async throws -> Signer {
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            let put = PutCardRequest(chain: next.identity.chain.bytes, replacing: anna.identity.chain.bytes)
            #expect(try await next.ask(put).outcome == .done)
            return next
        }

        @Test func A233_anOldSeedProvesNothingAndTakesNothingFromItsPerson() async throws {
            let bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
            let thief = try await bench.person("anna")
            let anna = try await renewed(thief, on: bench)
            for _ in 0..<100 {
                let call = Self.from(Self.elsewhere, try thief.call(thief.registration()))
                #expect(await bench.service.answer(call) == .unauthorized)
            }
            // The source of the thief has failed a hundred times.
            let call = Self.from(Self.elsewhere, try thief.call(thief.registration()))
            #expect(await bench.service.answer(call).status == 429)
            #expect(try await anna.ask(AccountRequest()).state == .active)
        }

        @Test func A233_keysThatDoNotContinueTheAccountProveNothing() async throws {
            let bench = try await Bench()
            let old = try await bench.person("anna")
            let anna = try await renewed(old, on: bench)
            bench.clock.now += 1
            var fork = old
            for _ in 0..<2 {
                fork = try bench.signer(try fork.identity.renewCard(time: bench.clock.now).identity)
                #expect(try await fork.reply(fork.registration()) == .unauthorized)
            }
            #expect(try await anna.ask(anna.registration()).state == .active)
        }

        @Test func A233_aDeviceTakesNothingFromItsPerson() async throws {
            let bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            var status = 200
            for _ in 0..<20 where status == 200 {
                status = try await device.reply(ServerShareRequest(device: share.id)).status
            }
            #expect(status == 429)
            #expect(try await anna.ask(AccountRequest()).state == .active)
        }
    }
#endif
