// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Attacks on log-ins by password at a service.
    @Suite(.overEveryEngine) struct LoginAttackTests {
        /// A thief of the database who lacks the server key makes the answers. The right word looks like each other.
        @Test func A114_whoHasTheDatabaseAloneTestsNoGuess() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            _ = try await scene.begin("anna")
            let found = try await scene.rows(
                SQL("SELECT record FROM accounts WHERE account = $1", [.digest(anna.user.digest)]))
            let record = try #require(found.first).bytes(0)
            let attempt = try #require(
                await scene.rows(SQL("SELECT attempt, account, expected FROM login_attempts")).first)
            #expect(try attempt.digest(1) == anna.user.digest)
            let parameters = try LoginParameters(server: scene.server, handle: anna.identity.handle)
            let words = ["wrong horse battery", LoginScene.password, "another horse battery"]
            /// The words that open what a service with these secrets answers, and those that end the attempt which lies
            /// there.
            func opening(_ secret: LoginSecret) throws -> (opened: [String], ended: [String]) {
                var (opened, ended): ([String], [String]) = ([], [])
                for word in words {
                    let login = try OPAQUELogin(input: parameters.input(Password(word)))
                    let answer = try secret.opaque.answer(
                        login.message, record: record, identifier: parameters.identifier, names: parameters.names(),
                        context: parameters.context)
                    let quick = try LoginScene.quick(parameters)
                    do throws(TresorError) {
                        let outcome = try login.finish(
                            answer: answer.message, names: parameters.names(), parameters: quick)
                        opened.append(word)
                        if try attempt.bytes(2) == outcome.message { ended.append(word) }
                    } catch {
                        #expect(error == .wrongPassword)
                    }
                }
                return (opened, ended)
            }
            for _ in 0..<3 {
                let drawn = try LoginSecret(
                    seed: SecretBytes(randomCount: OPAQUE.hashByteCount), privateKey: Ristretto255.randomScalar())
                let guesses = try opening(drawn)
                #expect(guesses.opened.isEmpty && guesses.ended.isEmpty)
            }
            // With the server key each guess costs one computation. An attempt tells nothing even then.
            let guesses = try opening(try #require(scene.bench.settings.logins))
            #expect(guesses.opened == [LoginScene.password] && guesses.ended.isEmpty)
        }

        /// Two people with one password have nothing in common, and the rows name neither handles nor addresses.
        @Test func A114_rowsOfOnePasswordAreUnlike() async throws {
            let scene = try await LoginScene()
            let records = [try await scene.person("anna").finish.record, try await scene.person("bert").finish.record]
            let pieces = records.map { record in stride(from: 0, to: 192, by: 16).map { Array(record[$0..<($0 + 16)]) }
            }
            #expect(Set(pieces[0]).isDisjoint(with: pieces[1]))
            let handle = "hunter-two-as-a-name"
            _ = try await scene.begin(handle, from: [198, 51, 100, 77])
            let tables = try await scene.bench.rows().dropLast()
            for values in tables.joined().map(\.values) {
                for case .bytes(let bytes) in values {
                    #expect(!String(decoding: bytes, as: UTF8.self).contains(handle))
                    #expect(bytes != [198, 51, 100, 77])
                }
            }
            // Without the server key nobody computes the codes of words that they guess.
            let another = try LoginSecret(
                seed: SecretBytes(randomCount: OPAQUE.hashByteCount), privateKey: Ristretto255.randomScalar())
            let name = try Name(typed: handle)
            let rows = try await scene.rows(SQL("SELECT bucket FROM login_limits"))
            let codes = Set(try rows.map { try $0.bytes(0) })
            let own = try #require(scene.bench.settings.logins)
            let (real, guessed) = (try own.code(1, [name.bytes]), try another.code(1, [name.bytes]))
            #expect(codes.contains(real) && !codes.contains(guessed))
        }

        /// An account with a record, one without, and a handle that nobody has, with the right password and with another
        /// one: as many bytes, transactions and statements, and a row for each attempt.
        @Test func A116_aHandleThatNobodyHasLooksLikeAnother() async throws {
            var scene = try await LoginScene()
            _ = try await scene.person("anna")
            _ = try await scene.bench.person("bert")
            let engine = CountingEngine(scene.bench.engine)
            scene.service = try Service(engine: engine, settings: scene.bench.settings)
            defer { scene.service.shutDown() }
            func counts() -> [Int] {
                [
                    engine.count, engine.statementCount, engine.writeCount, engine.writtenStatementCount,
                    engine.byteCount,
                ]
            }
            func work(_ body: () async throws -> Void) async throws -> [Int] {
                let before = counts()
                try await body()
                return zip(counts(), before).map { $0 - $1 }
            }
            var begins: Set<[Int]> = []
            var ends: Set<[Int]> = []
            for handle in ["anna", "bert", "cara"] {
                let right = try scene.first(handle)
                var replies: [ServiceReply] = []
                for request in [right, right, try scene.first(handle, "another password")] {
                    begins.insert(try await work { replies.append(await scene.reply(to: request)) })
                }
                #expect(replies.map(\.status) == [200, 200, 200] && replies.map(\.body.count) == [336, 336, 336])
                let answers = try replies.map { try LoginAnswer($0.body) }
                // The evaluated element depends on the handle and on the message alone; all else is drawn.
                #expect(answers[0].message.prefix(32) == answers[1].message.prefix(32))
                #expect(answers[0].message.dropFirst(32).prefix(32) != answers[1].message.dropFirst(32).prefix(32))
                #expect(answers[0].message.suffix(64) != answers[1].message.suffix(64))
                #expect(try await scene.attemptCount() == 3)
                for answer in answers {
                    let wrong = FinishLoginRequest(attempt: answer.attempt, message: [UInt8](repeating: 1, count: 64))
                    ends.insert(
                        try await work { #expect(await scene.reply(to: wrong) == .forbidden) })
                }
                #expect(try await scene.attemptCount() == 0)
            }
            #expect(begins.count == 1 && ends.count == 1, "\(begins), \(ends)")
        }

        /// The limits tell nobody either who has an account.
        @Test func A116_limitsAreThoseOfAHandleThatNobodyHas() async throws {
            let scene = try await LoginScene()
            _ = try await scene.person("anna")
            var statuses: [[Int]] = []
            for (handle, source) in [("anna", [192, 0, 2, 7] as [UInt8]), ("nobody", [192, 0, 2, 8])] {
                let request = try scene.first(handle)
                var replies: [ServiceReply] = []
                for _ in 0..<7 { replies.append(await scene.reply(to: request, from: source)) }
                statuses.append(replies.map(\.status))
                #expect(replies.last?.retryAfter == 601)
            }
            #expect(statuses == [[200, 200, 200, 200, 200, 429, 429], [200, 200, 200, 200, 200, 429, 429]])
        }

        /// A source has a share for many handles, and a line of IPv6 with many networks has shares of its own.
        @Test func A118_aSourceGuessesUnderManyHandles() async throws {
            let scene = try await LoginScene()
            var requests: [LoginRequest] = []
            for number in 0..<31 { requests.append(try scene.first("person-\(number)")) }
            var statuses: [Int] = []
            for request in requests { statuses.append(await scene.reply(to: request).status) }
            #expect(statuses == [Int](repeating: 200, count: 30) + [429])
            // Another source goes on, and this one after a minute.
            #expect(await scene.reply(to: requests[30], from: [192, 0, 2, 2]).status == 200)
            scene.bench.clock.now += 60
            #expect(await scene.reply(to: requests[30]).status == 200)
            #expect(await scene.reply(to: requests[29]).status == 429)
            // All networks with the same first 56 bits have four shares.
            var count = 0
            for network: UInt8 in 0..<5 {
                let source: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 1, network]
                for request in requests.prefix(30) where await scene.reply(to: request, from: source).status == 200 {
                    count += 1
                }
            }
            #expect(count == 120)
        }

        @Test func A118_whoKnowsThePasswordIsNotKeptOut() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            for _ in 0..<25 { #expect(try await scene.end(scene.begin("anna")).statement == finish.statement) }
            #expect(try await anna.ask(AccountRequest()).failures == 0)
            // Log-ins of their own give no other source its guesses back.
            let limits = SQL("SELECT bucket, filled FROM login_limits ORDER BY bucket")
            let full = try await scene.rows(limits)
            let begun = try await scene.begin("anna")
            let taken = try await scene.rows(limits)
            _ = try await scene.end(begun, from: [192, 0, 2, 2])
            #expect(try await scene.rows(limits) == taken)
            #expect(taken != full)
        }

        /// Somebody who had a handle before its owner tests no more passwords under it than a stranger.
        @Test func A118_settingAPasswordTestsFewGuesses() async throws {
            let scene = try await LoginScene()
            let eve = try scene.bench.stranger("anna").at(scene.service)
            let message = try OPAQUERegistration(input: SecretBytes(randomCount: 8)).message
            let request = RegisterRequest(chain: eve.identity.chain.bytes, invitation: [], blinded: message)
            var done = 0
            // Each process has a limit of its own for registrations.
            for _ in 0..<4 {
                let service = try await scene.bench.anotherService()
                defer { service.shutDown() }
                for _ in 0..<10 where try await eve.at(service).reply(request).status == 200 { done += 1 }
            }
            #expect(done == 20)
            scene.bench.clock.now += 300
            let service = try await scene.bench.anotherService()
            defer { service.shutDown() }
            #expect(try await eve.at(service).reply(request).status == 200)
            let refused = try await eve.at(service).reply(request)
            #expect(refused.status == 429 && refused.retryAfter == 301)
        }

        @Test func A119_anAttemptIsGoodOnce() async throws {
            let scene = try await LoginScene()
            let (_, finish) = try await scene.person("anna")
            let begun = try await scene.begin("anna")
            #expect(try await scene.end(begun).statement == finish.statement)
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            // A wrong message spends it too.
            let other = try await scene.begin("anna")
            let wrong = FinishLoginRequest(attempt: other.answer.attempt, message: [UInt8](repeating: 1, count: 64))
            #expect(await scene.reply(to: wrong) == .forbidden)
            #expect(await scene.reply(to: other.finish) == .forbidden)
            let unknown = FinishLoginRequest(
                attempt: [UInt8](repeating: 1, count: 16), message: try #require(other.last))
            #expect(await scene.reply(to: unknown) == .forbidden)
        }

        @Test func A119_anAttemptIsGoodForAMinute() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let start = scene.bench.clock.now
            for (seconds, isGood) in [(60 as UInt64, true), (61, false)] {
                scene.bench.clock.now = start
                let begun = try await scene.begin("anna")
                scene.bench.clock.now = start + seconds
                let reply = await scene.reply(to: begun.finish)
                #expect(isGood ? reply.status == 200 : reply == .forbidden)
            }
            #expect(try await anna.ask(AccountRequest()).failures == 1)
            scene.bench.clock.now = start + 600
            let swept = try await scene.begin("anna")
            scene.bench.clock.now += 60
            try await scene.service.sweep()
            #expect(try await scene.end(swept).statement == finish.statement)
            let late = try await scene.begin("anna")
            scene.bench.clock.now += 61
            try await scene.service.sweep()
            #expect(try await scene.attemptCount() == 0)
            #expect(await scene.reply(to: late.finish) == .forbidden)
        }

        @Test func A119_theLastMessageOfAnotherAttemptEndsNothing() async throws {
            let scene = try await LoginScene()
            _ = try await scene.person("anna")
            _ = try await scene.person("bert")
            let attempts = [
                try await scene.begin("anna"), try await scene.begin("anna"), try await scene.begin("bert"),
            ]
            for (one, other) in [(0, 1), (2, 0)] {
                let mixed = FinishLoginRequest(
                    attempt: attempts[one].answer.attempt, message: try #require(attempts[other].last))
                #expect(await scene.reply(to: mixed) == .forbidden)
                #expect(await scene.reply(to: attempts[one].finish) == .forbidden)
            }
            #expect(try await scene.end(attempts[1]).copy == Array("copy 1".utf8))
        }

        /// Each process takes the attempts of all, and each attempt is good once in all of them.
        @Test func A119_anAttemptIsSpentInEveryProcess() async throws {
            var scene = try await LoginScene()
            let (_, finish) = try await scene.person("anna")
            let (begun, again) = (try await scene.begin("anna"), try await scene.begin("anna"))
            let first = scene.service
            scene.service = try await scene.bench.anotherService()
            #expect(try await scene.end(begun).statement == finish.statement)
            scene.service = first
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            let calls = try await withThrowingTaskGroup(of: Int.self, returning: [Int].self) { group in
                for service in [first, try await scene.bench.anotherService()] {
                    let end = again.finish
                    let call = ServiceCall(
                        operation: .finishLogin, body: end.bytes, authorization: nil, source: LoginScene.source)
                    group.addTask { await service.answer(call).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(calls.sorted() == [200, 403])
        }

        @Test func A121_nobodyFinishesTwiceOrForAnother() async throws {
            let scene = try await LoginScene()
            let (anna, first) = try await scene.person("anna")
            let (bert, _) = try await scene.person("bert")
            let before = try await scene.bench.rows().dropLast()
            // Another statement of the present revision, and one that leaves revisions out.
            scene.bench.clock.now += 1
            for (revision, error) in [(1 as UInt64, TresorError.busy), (3, .failed(.other)), (.max, .failed(.other))] {
                let other = try scene.finishing(first.record, of: anna, revision: revision)
                #expect(try await anna.reply(other).error == error, "\(revision)")
            }
            // Somebody else's statement, and one of another service.
            let theirs = try scene.finishing(first.record, of: bert, revision: 2)
            #expect(try await anna.reply(theirs) == .refused(.altered))
            let own = try scene.finishing(first.record, of: anna, revision: 2)
            #expect(try await bert.reply(own) == .refused(.altered))
            #expect(try await anna.reply(try anna.finishing(server: .zero)) == .refused(.altered))
            #expect(try await scene.bench.rows().dropLast() == before)
            #expect(try await scene.end(scene.begin("anna")).statement == first.statement)
        }

        /// Of two homes that follow one statement, one does, and the other one when it tries again.
        @Test func A121_ofTwoStatementsOneIsTaken() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            let one = try await scene.setting("one horse battery", of: anna, revision: 2)
            scene.bench.clock.now += 1
            let other = try await scene.setting("other horse battery", of: anna, revision: 2)
            let statuses = try await withThrowingTaskGroup(of: Int.self, returning: [Int].self) { group in
                for finish in [one, other] { group.addTask { try await anna.reply(finish).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 429])
            let account = try await anna.ask(AccountRequest())
            #expect(account.statement == one.statement || account.statement == other.statement)
            let again = try await scene.setting("other horse battery", of: anna, revision: 3)
            #expect(try await anna.ask(again).state == .active)
            #expect(try await scene.service.check().isClean)
        }

        @Test func A122_anOlderRevisionIsRefused() async throws {
            let scene = try await LoginScene()
            let (anna, first) = try await scene.person("anna")
            let second = try await scene.setting("another horse battery", of: anna, revision: 2)
            _ = try await anna.ask(second)
            #expect(try await anna.reply(first) == .refused(.failed(.other)))
            #expect(try await anna.ask(AccountRequest()).statement == second.statement)
            #expect(try await scene.begin("anna").last == nil)
        }
    }

    /// A day of guesses. It takes long, so one database has to do.
    @Suite struct LoginDayTests {
        @Test func A118_inADayOnlyAFewGuessesAreAnswered() async throws {
            var scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let (_, share) = try await anna.trustedDevice()
            let request = try scene.first("anna", "a wrong password")
            let start = scene.bench.clock.now
            var answered = 0
            for number in 0..<10_000 {
                scene.bench.clock.now = start + UInt64(number) * 86_400 / 10_000
                // A botnet of a thousand machines.
                let source: [UInt8] = [203, 0, UInt8(number % 1_000 / 250), UInt8(number % 250)]
                let reply = await scene.reply(to: request, from: source)
                if reply.status == 200 { answered += 1 } else { #expect(reply.status == 429) }
                guard number.isMultiple(of: 1_000) else { continue }
                // The device opens its share all the while, and the sweep drops no bucket that counts.
                let key = try SessionKey(
                    of: share, server: scene.service.id, since: scene.bench.clock.now, duration: 3_600)
                let device = Signer(
                    service: scene.service, clock: scene.bench.clock, identity: anna.identity, key: key)
                #expect(try await device.ask(ServerShareRequest(device: share.id)).share.count == 32)
                try await scene.service.sweep()
                if number == 5_000 { scene.service = try await scene.bench.anotherService() }
            }
            #expect((290...308).contains(answered), "\(answered)")
            let signer = try scene.bench.signer(anna.identity).at(scene.service)
            let account = try await signer.ask(AccountRequest())
            #expect(account.failures >= UInt64(answered) - 1 && account.statement == finish.statement)
        }
    }
#endif
