// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The work that a service takes for a request that proves nothing.
    @Suite(.overEveryEngine) struct WorkTests {
        private static func from(_ source: [UInt8], _ call: ServiceCall) -> ServiceCall {
            ServiceCall(operation: call.operation, body: call.body, authorization: call.authorization, source: source)
        }

        /// A request whose signature does not hold.
        private static func spoiled(_ call: ServiceCall) throws -> ServiceCall {
            let good = try Authorization(#require(call.authorization))
            var signature = good.signature
            signature[0] ^= 1
            let text = Authorization(statement: good.statement, id: good.id, time: good.time, signature: signature).text
            return ServiceCall(operation: call.operation, body: call.body, authorization: text, source: call.source)
        }

        @Test func nothingIsReadBeforeTheSignatureOfTheRequestHolds() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let eve = try bench.stranger("eve")
            for signer in [anna, eve] {
                for call in [try signer.call(AccountRequest()), try signer.call(signer.registration())] {
                    #expect(await service.answer(try Self.spoiled(call)) == .unauthorized)
                }
            }
            #expect(engine.count == 0)
            #expect(await service.answer(try anna.call(AccountRequest())).status == 200)
            #expect(engine.count > 0)
        }

        /// The chain in a body is read last, since each of its cards takes two signatures. Its newest card alone must
        /// first name the key that signed.
        @Test func aChainIsReadAfterTheSignatureOfTheSessionHolds() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            var broken = next.identity.chain.bytes
            // The last byte of the newest card: it continues the chain that is there.
            broken[broken.count - 1] ^= 1
            #expect(throws: TresorError.altered) { try CardChain(broken) }
            let eve = try bench.stranger("eve")
            for body in [
                RegisterRequest(chain: broken, invitation: [], blinded: []).bytes,
                PutCardRequest(chain: broken, replacing: anna.identity.chain.bytes).bytes,
            ] {
                let operation: ServiceOperation = body.count > broken.count + 8 ? .putCard : .register
                #expect(await bench.service.answer(try eve.call(operation, body)) == .unauthorized)
            }
            let own = RegisterRequest(chain: broken, invitation: [], blinded: [])
            #expect(try await next.reply(own) == .refused(.altered))
        }

        @Test func theNewestCardSaysWhichKeySigns() throws {
            var identity = try Identity.make(handle: try Name(typed: "anna"), time: 1)
            for generation in 0..<3 {
                let claim = try CardClaim(newestIn: identity.chain.bytes)
                #expect(claim.user == identity.user)
                #expect(claim.generation == generation)
                #expect(claim.signingKey == identity.chain.newest.signingKey)
                identity = try identity.renewCard(time: 2).identity
            }
            let bytes = identity.chain.bytes
            for wrong in [[], Array(bytes.dropLast()), bytes + [0], bytes + bytes.prefix(10)] as [[UInt8]] {
                #expect(throws: TresorError.altered) { try CardClaim(newestIn: wrong) }
            }
        }

        /// Of a barred source the rows are read, and nothing that costs more.
        @Test func A126_aSourceThatProvesNothingIsBarred() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let (bad, good): ([UInt8], [UInt8]) = ([192, 0, 2, 1], [192, 0, 2, 2])
            let known = Self.from(bad, try anna.call(AccountRequest()))
            #expect(await service.answer(known).status == 200)
            let before = engine.count
            let eve = try bench.stranger("eve")
            var reply = ServiceReply.unauthorized
            var count = 0
            while reply == .unauthorized, count < 200 {
                count += 1
                reply = await service.answer(Self.from(bad, try eve.call(AccountRequest())))
            }
            #expect(reply.status == 429 && reply.retryAfter == 1)
            #expect(count == 101)
            #expect(engine.count == before + count)
            // Somebody who has spoken from there goes on, and so does everybody elsewhere.
            #expect(await service.answer(Self.from(bad, try anna.call(AccountRequest()))).status == 200)
            #expect(await service.answer(Self.from(good, try eve.call(AccountRequest()))) == .unauthorized)
        }

        @Test func anEndedSessionIsNoLongerOneThatHolds() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let service = try Service(engine: bench.engine, settings: bench.settings)
            let source: [UInt8] = [192, 0, 2, 1]
            let first = try anna.call(AccountRequest())
            #expect(await service.answer(Self.from(source, first)).status == 200)
            bench.clock.now += 1
            let later = try bench.signer(anna.identity)
            _ = try await later.ask(EndSessionsRequest())
            // It proves who asks, so that it is told the era, and bars nobody.
            let ended = Refusal.ended(now: try await bench.era(of: anna.user))
            for _ in 0..<101 {
                let reply = await service.answer(Self.from(source, try anna.call(AccountRequest())))
                #expect(reply == ServiceReply(ended))
            }
            let head = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20, authorization: first.authorization, source: source)
            await #expect(throws: ended) { _ = try await service.proves(head) }
        }

        @Test func nobodyUsesUpTheTriesOfSomebodyElse() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try bench.stranger("eve")
            // Eve names Anna, with a chain of her own.
            let statement = try SessionStatement(
                kind: .identity, server: bench.service.id, user: anna.user, generation: 0, device: nil,
                key: eve.key.statement.key, since: bench.clock.now, until: bench.clock.now + 60
            ) { (label, bytes) throws(TresorError) in try eve.identity.sign(label, bytes) }
            for _ in 0..<20 {
                let body = eve.registration().bytes
                let signed = try eve.key.authorization(
                    for: .register, body: body, id: randomBytes(16), time: bench.clock.now)
                let text = Authorization(
                    statement: statement, id: signed.id, time: signed.time, signature: signed.signature
                ).text
                let call = ServiceCall(operation: .register, body: body, authorization: text, source: [192, 0, 2, 1])
                #expect(await bench.service.answer(call) == .unauthorized)
            }
            #expect(try await anna.ask(anna.registration()).state == .active)
        }

        @Test func answersThatAreKeptCountToo() async throws {
            let bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
            let anna = try await bench.person("anna")
            let call = try anna.call(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            var replies: [Int] = []
            for _ in 0..<11 where replies.last != 429 { replies.append(await bench.service.answer(call).status) }
            #expect(replies.first == 200 && replies.last == 429)
        }
    }
#endif
