// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Heads that are judged before their bodies come, and people behind an address that is barred.
    @Suite(.overEveryEngine) struct HeadTests {
        private enum Verdict: Hashable {
            case proved, unproved
            case refused(Int)
        }

        private static let source: [UInt8] = [192, 0, 2, 1]
        private static let other: [UInt8] = [192, 0, 2, 2]

        private static func head(
            of signer: Signer, _ operation: ServiceOperation = .append, byteCount: Int = 1 << 20,
            from source: [UInt8] = Self.source
        ) throws -> ServiceHead {
            ServiceHead(
                operation: operation, bodyByteCount: byteCount,
                authorization: try signer.call(operation, []).authorization, source: source)
        }

        private static func verdict(_ head: ServiceHead, by service: Service) async -> Verdict {
            do throws(Refusal) {
                return try await service.proves(head) != nil ? .proved : .unproved
            } catch {
                return .refused(error.status.rawValue)
            }
        }

        private static func from(_ source: [UInt8], _ call: ServiceCall) -> ServiceCall {
            ServiceCall(operation: call.operation, body: call.body, authorization: call.authorization, source: source)
        }

        /// Bars ``source``.
        private static func bar(at service: Service) {
            for _ in 0..<100 { service.noteFailure(of: source) }
        }

        /// The request for an account, in a session in the name and generation of somebody else, both of which the speaker
        /// signed.
        static func request(naming other: Signer, by signer: Signer) throws -> Authorization {
            let good = signer.key.statement
            let key = try SigningKey(seed: SecretKey<SigningUse>())
            let statement = try SessionStatement(
                kind: .identity, server: good.server, user: other.user, generation: other.identity.generation,
                device: nil,
                key: key.publicKey, since: good.since, until: good.until
            ) { (label, bytes) throws(TresorError) in try signer.identity.sign(label, bytes) }
            let request = try RequestStatement(
                session: statement.hash(), id: randomBytes(16), time: signer.clock.now, operation: .account,
                body: AccountRequest().bytes)
            return Authorization(
                statement: statement, id: request.id, time: request.time, signature: try key.sign(request.message))
        }

        @Test func A230_aLargeBodyIsReadForAHeadThatProvesItself() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try bench.stranger("eve")
            #expect(await Self.verdict(try Self.head(of: anna), by: bench.service) == .proved)
            #expect(await Self.verdict(try Self.head(of: eve), by: bench.service) == .refused(401))
            let texts: [String?] = [nil, "Tresor", try Self.request(naming: anna, by: eve).text]
            for text in texts {
                let head = ServiceHead(
                    operation: .append, bodyByteCount: 1 << 20, authorization: text, source: Self.source)
                #expect(await Self.verdict(head, by: bench.service) == .refused(401))
            }
            let late = try Self.head(of: anna)
            bench.clock.now += 301
            #expect(await Self.verdict(late, by: bench.service) == .refused(401))
            let later = try bench.signer(anna.identity)
            _ = try await later.ask(EndSessionsRequest())
            #expect(await Self.verdict(try Self.head(of: anna), by: bench.service) == .refused(401))
            let renewed = try await bench.renewed(later)
            #expect(await Self.verdict(try Self.head(of: renewed), by: bench.service) == .proved)
        }

        /// The chain of a newcomer, or of new keys, stands in the body.
        @Test func aBodyThatProvesItsSessionIsRead() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try bench.stranger("eve")
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            #expect(await Self.verdict(try Self.head(of: eve, .register), by: bench.service) == .unproved)
            #expect(await Self.verdict(try Self.head(of: next, .putCard), by: bench.service) == .unproved)
            #expect(await Self.verdict(try Self.head(of: next, .append), by: bench.service) == .refused(401))
            #expect(await Self.verdict(try Self.head(of: eve, byteCount: 64 << 10), by: bench.service) == .unproved)
            #expect(await Self.verdict(try Self.head(of: eve, .server), by: bench.service) == .unproved)
        }

        @Test func A230_slowBodiesBarTheirSource() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try bench.stranger("eve")
            Self.bar(at: bench.service)
            for operation in [ServiceOperation.append, .register, .account] {
                for count in [1, 1 << 20] {
                    let head = try Self.head(of: eve, operation, byteCount: count)
                    // A small body may have an invitation, which its head does not show.
                    let expected: Verdict = operation == .register && count == 1 ? .unproved : .refused(429)
                    #expect(await Self.verdict(head, by: bench.service) == expected)
                }
            }
            // Behind it a clock that is off is put right: the answer is 401, with the time.
            let late = try Self.head(of: anna, .account, byteCount: 1)
            bench.clock.now += 301
            #expect(await Self.verdict(late, by: bench.service) == .unproved)
            bench.clock.now -= 301
            // A small request makes her session known; until then its large body is not asked for.
            let again = try bench.signer(anna.identity)
            #expect(await Self.verdict(try Self.head(of: again), by: bench.service) == .refused(429))
            #expect(
                await bench.service.answer(Self.from(Self.source, try again.call(AccountRequest()))).status == 200)
            #expect(await Self.verdict(try Self.head(of: again), by: bench.service) == .proved)
            // So is her key, for a session that begins behind the barred address with a large body.
            let next = try bench.signer(anna.identity)
            #expect(await Self.verdict(try Self.head(of: next), by: bench.service) == .proved)
            let named = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20,
                authorization: try Self.request(naming: anna, by: eve).text, source: Self.source)
            #expect(await Self.verdict(named, by: bench.service) == .refused(429))
            let elsewhere = try Self.head(of: eve, .register, from: Self.other)
            #expect(await Self.verdict(elsewhere, by: bench.service) == .unproved)
        }

        @Test func A243_anAccountIsHeardBehindABarredAddress() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try bench.stranger("eve")
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            // Each with keys of its own, as a hostile client sends them.
            var status = 401
            for _ in 0..<101 where status == 401 {
                let stranger = try bench.signer(eve.identity)
                status = await bench.service.answer(Self.from(Self.source, try stranger.call(AccountRequest()))).status
            }
            #expect(status == 429)
            // A session that the service has not seen, of somebody who has never spoken from there.
            let call = try bench.signer(anna.identity).call(AccountRequest())
            #expect(await bench.service.answer(Self.from(Self.source, call)).status == 200)
            // No chain is read, neither of a newcomer nor of new keys.
            let replacing = anna.identity.chain.bytes
            for call in [
                try eve.call(eve.registration()),
                try next.call(PutCardRequest(chain: next.identity.chain.bytes, replacing: replacing)),
            ] {
                #expect(await bench.service.answer(Self.from(Self.source, call)).status == 429)
            }
            // Naming an account is not enough.
            let body = AccountRequest().bytes
            let named = ServiceCall(
                operation: .account, body: body, authorization: try Self.request(naming: anna, by: eve).text,
                source: Self.source)
            #expect(await bench.service.answer(named).status == 429)
        }

        /// A small body in a session that has held asks the database nothing, wherever it comes from.
        @Test func A243_aSessionThatHasHeldIsKnown() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            #expect(await service.answer(Self.from(Self.source, try anna.call(AccountRequest()))).status == 200)
            let again = try bench.signer(anna.identity)
            let before = engine.count
            for source in [Self.source, Self.other] {
                let small = try Self.head(of: anna, .account, byteCount: 10, from: source)
                #expect(await Self.verdict(small, by: service) == .proved)
            }
            #expect(engine.count == before)
            for head in [try Self.head(of: anna), try Self.head(of: again, .account, byteCount: 10)] {
                #expect(await Self.verdict(head, by: service) == .proved)
            }
            #expect(engine.count == before + 2)
        }

        /// A caller who names somebody proves nothing, and takes nothing from them.
        @Test func A230_namingSomebodyWhoIsKnownProvesNothing() async throws {
            let bench = try await Bench()
            let (anna, eve) = (try await bench.person("anna"), try bench.stranger("eve"))
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            #expect(await service.answer(Self.from(Self.source, try anna.call(AccountRequest()))).status == 200)
            let text = try Self.request(naming: anna, by: eve).text
            let named = ServiceHead(
                operation: .account, bodyByteCount: 10, authorization: text, source: Self.source)
            #expect(await Self.verdict(named, by: service) == .unproved)
            let call = ServiceCall(
                operation: .account, body: AccountRequest().bytes, authorization: text, source: Self.source)
            #expect(await service.answer(call) == .unauthorized)
            Self.bar(at: service)
            #expect(await Self.verdict(named, by: service) == .refused(429))
            let before = engine.count
            let small = try Self.head(of: anna, .account, byteCount: 10)
            #expect(await Self.verdict(small, by: service) == .proved)
            #expect(engine.count == before)
        }

        /// Anybody may ask for an account: whoever waits for one is heard, also behind a barred address, and has no more
        /// room and no other place than a stranger.
        @Test func A230_whoWaitsForAnAccountStaysAStranger() async throws {
            let bench = try await Bench(.closed)
            let eve = try bench.stranger("eve")
            func expectStranger() async throws {
                let call = Self.from(Self.source, try eve.call(AccountRequest()))
                #expect(await bench.service.answer(call).status == 200)
                let small = try Self.head(of: eve, .account, byteCount: 10)
                #expect(await Self.verdict(small, by: bench.service) == .unproved)
            }
            #expect(try await eve.ask(eve.registration()).state == .asked)
            try await expectStranger()
            #expect(try await eve.ask(try eve.finishing()).state == .complete)
            try await expectStranger()
            #expect(await Self.verdict(try Self.head(of: eve, .finish), by: bench.service) == .unproved)
            #expect(await Self.verdict(try Self.head(of: eve), by: bench.service) == .refused(403))
            Self.bar(at: bench.service)
            try await expectStranger()
            #expect(await Self.verdict(try Self.head(of: eve, .finish), by: bench.service) == .refused(429))
        }

        /// A thief of a device takes neither the room nor the places of its person, who removes it.
        @Test func A230_aDeviceStaysAStranger() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            func expectStranger() async throws {
                let request = ServerShareRequest(device: share.id)
                #expect(await bench.service.answer(Self.from(Self.source, try device.call(request))).status == 200)
                for operation in [ServiceOperation.serverShare, .account, .append] {
                    let small = try Self.head(of: device, operation, byteCount: 10)
                    #expect(await Self.verdict(small, by: bench.service) == .unproved)
                }
            }
            // In a session that is not known yet.
            let first = try Self.head(of: device, .serverShare, byteCount: 10)
            #expect(await Self.verdict(first, by: bench.service) == .unproved)
            for operation in [ServiceOperation.append, .putCard] {
                #expect(await Self.verdict(try Self.head(of: device, operation), by: bench.service) == .refused(403))
            }
            try await expectStranger()
            #expect(await Self.verdict(try Self.head(of: device), by: bench.service) == .refused(403))
            // It is heard behind a barred address.
            Self.bar(at: bench.service)
            try await expectStranger()
            // A session of the person on that device is the person's.
            let person = try bench.signer(anna.identity, device: share.id)
            let small = try Self.head(of: person, .account, byteCount: 10)
            #expect(await Self.verdict(small, by: bench.service) == .proved)
        }

        /// A session may have ended since it held, in another process or with its device.
        @Test func A230_aSessionIsKnownForAMinute() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let service = try await bench.anotherService()
            _ = try await anna.at(service).ask(AccountRequest())
            _ = try await anna.ask(EndSessionsRequest())
            bench.clock.now += 60
            let small = try Self.head(of: anna, .account, byteCount: 10)
            #expect(await Self.verdict(small, by: service) == .proved)
            bench.clock.now += 1
            #expect(await Self.verdict(small, by: service) == .unproved)
        }

        /// A session that was ended is known no longer.
        @Test func anEndedSessionProvesNothing() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let small = try Self.head(of: anna, .account, byteCount: 10)
            #expect(await Self.verdict(small, by: bench.service) == .proved)
            _ = try await bench.signer(anna.identity).ask(EndSessionsRequest())
            let ended = ServiceReply(Refusal.ended(now: try await bench.era(of: anna.user)))
            #expect(try await anna.reply(AccountRequest()) == ended)
            #expect(await Self.verdict(small, by: bench.service) == .unproved)
        }

        /// A thief of the statement of a session, without its key, proves nothing with it after their first request.
        @Test func A230_aSessionThatWasEndedElsewhereIsForgottenWithAnyRequest() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let service = try Service(engine: bench.engine, settings: bench.settings)
            #expect(await service.answer(Self.from(Self.source, try anna.call(AccountRequest()))).status == 200)
            _ = try await bench.signer(anna.identity).ask(EndSessionsRequest())
            let small = try Self.head(of: anna, .account, byteCount: 10)
            #expect(await Self.verdict(small, by: service) == .proved)
            let signed = try anna.call(AccountRequest())
            let call = ServiceCall(
                operation: .tresors, body: signed.body, authorization: signed.authorization, source: Self.source)
            #expect(await service.answer(call) == .unauthorized)
            #expect(await Self.verdict(small, by: service) == .unproved)
        }

        /// A large head from a barred source asks the database nothing, whomever it names.
        @Test func A230_aLargeHeadFromABarredSourceReadsNoRows() async throws {
            let bench = try await Bench()
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let (anna, eve) = (try await bench.person("anna"), try bench.stranger("eve"))
            Self.bar(at: service)
            let before = engine.count
            for head in [try Self.head(of: eve), try Self.head(of: eve, .register), try Self.head(of: anna)] {
                #expect(await Self.verdict(head, by: service) == .refused(429))
            }
            #expect(engine.count == before)
        }

        /// A head names the generation that signed it: no other key of that person is tried.
        @Test func A230_aLargeHeadFromABarredSourceIsCheckedByOneKey() async throws {
            let bench = try await Bench()
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let former = try await bench.person("anna").at(service)
            _ = try await former.ask(AccountRequest())
            let anna = try bench.signer(try former.identity.renewCard(time: bench.clock.now).identity).at(service)
            #expect(try await anna.publish(after: former).status == 200)
            _ = try await anna.ask(AccountRequest())
            Self.bar(at: service)
            let before = engine.count
            let named = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20,
                authorization: try Self.request(naming: anna, by: former).text, source: Self.source)
            #expect(await Self.verdict(named, by: service) == .refused(429))
            #expect(engine.count == before)
            #expect(await Self.verdict(try Self.head(of: bench.signer(anna.identity)), by: service) == .proved)
        }

        private static let users = (UInt8(0)..<5).map { UserID(Hash256([UInt8](repeating: $0, count: 32)) ?? .zero) }

        @Test func whatWasNotSeenForLongIsForgottenFirst() {
            let held = Held<Int>(halfCount: 2)
            for user in Self.users { held.keep(1, of: user) }
            #expect(Self.users.map { held.contains(of: $0) { $0 == 1 } } == [false, false, true, true, true])
            #expect(!held.contains(of: Self.users[4]) { $0 == 2 })
            held.forget(of: Self.users[4]) { $0 == 1 }
            #expect(!held.contains(of: Self.users[4]) { $0 == 1 })
        }

        @Test func A250_nobodysSessionsPushOutThoseOfOthers() {
            let held = Held<Int>(share: 2, halfCount: 4)
            let (anna, eve) = (Self.users[0], Self.users[1])
            held.keep(1, of: anna)
            for session in 0..<1_000 { held.keep(session, of: eve) }
            #expect(held.contains(of: anna) { $0 == 1 })
            #expect(held.newest(of: eve) { _ in true } == 999)
            func kept() -> [Int] { (0...1_000).filter { session in held.contains(of: eve) { $0 == session } } }
            #expect(kept() == [998, 999])
            // The one that is used again is the newest.
            held.keep(998, of: eve)
            held.keep(1_000, of: eve)
            #expect(kept() == [998, 1_000])
        }

        @Test func A249_aSourceAsksForKitCopiesSoOften() async throws {
            let bench = try await Bench()
            func ask(_ source: [UInt8]) async -> Int {
                await bench.service.answer(
                    ServiceCall(
                        operation: .kitCopy, body: KitCopyRequest(locator: .zero).bytes, authorization: nil,
                        source: source)
                ).status
            }
            var count = 0
            while await ask(Self.source) == 200, count < 100 { count += 1 }
            #expect(count == 60)
            #expect(await ask(Self.source) == 429)
            #expect(await ask(Self.other) == 200)
            #expect(await ask([]) == 200)
        }

        /// Each command of a whole ward asks for it first.
        @Test func aSourceAsksForTheDescriptionOfTheServiceWithoutALimit() async throws {
            let bench = try await Bench()
            let call = ServiceCall(
                operation: .server, body: ServerRequest().bytes, authorization: nil, source: Self.source)
            Self.bar(at: bench.service)
            for _ in 0..<1_001 { #expect(await bench.service.answer(call).status == 200) }
        }
    }
#endif
