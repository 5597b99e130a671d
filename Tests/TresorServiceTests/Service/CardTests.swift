// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Putting card chains.
    @Suite(.overEveryEngine) struct CardTests {
        /// The chain of a person with one more card, whose signature does not hold.
        static func broken(_ person: Signer) throws -> [UInt8] {
            var bytes = try person.identity.renewCard(time: person.clock.now).identity.chain.bytes
            bytes[bytes.count - 1] ^= 1
            return bytes
        }

        @Test func A240_bytesAreComparedBeforeASignatureIsChecked() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let chain = try Self.broken(anna)
            #expect(throws: TresorError.altered) { try CardChain(chain) }
            #expect(try await anna.ask(PutCardRequest(chain: chain, replacing: [1])).outcome == .conflict)
            let next = PutCardRequest(chain: chain, replacing: anna.identity.chain.bytes)
            #expect(try await anna.reply(next) == .refused(.altered))
        }

        @Test func A240_whatIsThereIsNotVerifiedAgain() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let chain = try Self.broken(anna)
            _ = try await bench.engine.write([
                SQL("UPDATE accounts SET chain = $2 WHERE account = $1", [.digest(anna.user.digest), .bytes(chain)])
            ])
            #expect(try await anna.ask(PutCardRequest(chain: chain, replacing: chain)).outcome == .done)
        }
    }
#endif
