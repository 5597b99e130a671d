// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    extension AppendRequest {
        /// A request of the same author for the next place.
        func next(by signer: Signer) throws -> AppendRequest {
            let last = try Entry(entry)
            let entry = try Entry(
                tresor: tresor, sequence: sequence + 1, previous: last.hash(), author: signer.identity,
                time: signer.clock.now, body: .additive(.sample))
            return AppendRequest(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: [],
                removing: [])
        }
    }

    extension Signer {
        /// Whether the service knows the session without its rows.
        func isKnown() throws -> Bool {
            let head = ServiceHead(
                operation: .append, bodyByteCount: 10, authorization: try call(.append, []).authorization, source: [],
                audiences: [.ofTests])
            return service.knows(head) == user
        }
    }

    /// A person who has founded a tresor, and calls that take what their limit has left then.
    private struct LimitedScene: Sendable {
        let bench: Bench
        let failing: FailingEngine
        let engine: MeddlingEngine
        let service: Service
        let anna: Signer
        let founding: AppendRequest
        let emptying: [ServiceCall]

        init() async throws {
            bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
            failing = FailingEngine(bench.engine)
            engine = MeddlingEngine(failing)
            service = try Service(engine: engine, settings: bench.settings)
            let anna = try await bench.person("anna").at(service)
            self.anna = anna
            let founding = try anna.founding()
            self.founding = founding
            emptying = try (0..<9).map { _ in try anna.call(AccountRequest()) }
            #expect(try await anna.ask(founding).outcome == .done)
        }
    }

    /// Appends of a session that was open lately: its account is read in the transaction that writes.
    @Suite(.overEveryEngine) struct RecentSessionTests {
        /// A change of a person's rows after which a session says nothing, and the answer that it gets.
        enum End: CaseIterable {
            case closed, waiting, renewed, awaited, ended

            func statement(_ anna: Signer) throws -> SQL {
                let user = SQLValue.digest(anna.user.digest)
                switch self {
                case .closed: return SQL("UPDATE accounts SET state = 4 WHERE account = $1", [user])
                case .waiting: return SQL("UPDATE accounts SET state = 2 WHERE account = $1", [user])
                case .renewed:
                    let renewed = try anna.identity.renewCard(time: anna.clock.now).identity
                    return Account.replacement(by: renewed.chain, after: 0)
                case .awaited: return Account.awaiting(.zero, generation: 1, of: anna.user)
                case .ended: return Account.beginning(try Era.first.next(), of: anna.user)
                }
            }

            var status: Int { self == .waiting ? 403 : 401 }
        }

        /// The second append of a session reads neither the account nor the end of the log before it writes.
        @Test func anAppendOfARecentSessionIsOneTransaction() async throws {
            let bench = try await Bench()
            let engine = MeddlingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let anna = try await bench.person("anna").at(service)
            let founding = try anna.founding()
            #expect(try await anna.ask(founding).outcome == .done)
            let reads = Mutex<[String]>([])
            func asked(_ request: AppendRequest, by signer: Signer) async throws -> [Bool] {
                _ = engine.takeReadTexts()
                engine.beforeNextWrite { reads.withLock { $0 = engine.takeReadTexts() } }
                #expect(try await signer.ask(request).outcome == .done)
                let texts = reads.withLock { $0 }
                return ["FROM accounts", "JOIN access"].map { name in texts.contains { $0.contains(name) } }
            }
            let second = try founding.next(by: anna)
            let recent = try await asked(second, by: anna)
            #expect(recent == [false, false])
            // A session that was not heard of is looked for first, and the end of a log that another process wrote.
            let unheard = try bench.signer(anna.identity).at(service)
            let third = try second.next(by: unheard)
            let first = try await asked(third, by: unheard)
            #expect(first == [true, false])
            let fourth = try third.next(by: anna)
            #expect(try await anna.at(bench.service).ask(fourth).outcome == .done)
            let later = try await asked(try fourth.next(by: anna), by: anna)
            #expect(later == [true, true])
        }

        @Test(arguments: End.allCases) func A236_aSessionThatHasEndedWritesNothing(_ end: End) async throws {
            let bench = try await Bench()
            let engine = MeddlingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let anna = try await bench.person("anna").at(service)
            let founding = try anna.founding()
            #expect(try await anna.ask(founding).outcome == .done)
            let second = try founding.next(by: anna)
            #expect(try await anna.ask(second).outcome == .done)
            let third = try second.next(by: anna)
            let change = try end.statement(anna)
            let before = try await bench.rows()
            #expect(try anna.isKnown())
            // It ends elsewhere when this process has judged the entry already.
            engine.beforeNextWrite { [bench] in _ = try? await bench.engine.write([change]) }
            #expect(try await anna.reply(third).status == end.status)
            #expect(try !anna.isKnown())
            #expect(try await anna.reply(third).status == end.status)
            let after = try await bench.rows()
            #expect(after.prefix(4) == before.prefix(4) && after.last == before.last)
            #expect(after != before)
        }

        /// A lookup that came with the rows of a session is told to nobody whose session these end.
        @Test(arguments: End.allCases) func A236_aSessionThatHasEndedReadsNothing(_ end: End) async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let founding = try anna.founding()
            #expect(try await anna.ask(founding).outcome == .done)
            let request = EntriesRequest(tresor: founding.tresor, first: 0, limit: 1)
            for _ in 0..<2 { #expect(try await anna.ask(request).entries == [founding.entry]) }
            _ = try await bench.engine.write([try end.statement(anna)])
            let reply = try await anna.reply(request)
            #expect(reply.status == end.status && reply.error != nil)
        }

        @Test func A124_aSessionOfARemovedDeviceWritesNothing() async throws {
            let bench = try await Bench()
            let engine = MeddlingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let anna = try await bench.person("anna")
            let device = try await anna.trustedDevice().1.id
            let speaking = try bench.signer(anna.identity, device: device).at(service)
            let founding = try speaking.founding()
            #expect(try await speaking.ask(founding).outcome == .done)
            let second = try founding.next(by: speaking)
            #expect(try await speaking.ask(second).outcome == .done)
            engine.beforeNextWrite { _ = try? await anna.ask(DeleteServerSharesRequest(devices: [device])) }
            let third = try second.next(by: speaking)
            #expect(try await speaking.reply(third) == .unauthorized)
            #expect(try await bench.rows()[1].count == 2)
            #expect(try await anna.at(service).ask(third).outcome == .done)
        }

        /// The second look of an append takes nothing more from the limit of the person.
        @Test func anAppendThatIsJudgedTwicePaysOnce() async throws {
            let scene = try await LimitedScene()
            defer { scene.service.shutDown() }
            let anna = scene.anna
            var last = scene.founding
            for _ in 0..<8 {
                last = try last.next(by: anna)
                scene.failing.fail(.store(.damaged), count: 1)
                #expect(try await anna.ask(last).outcome == .done)
            }
            #expect(try await anna.reply(AccountRequest()).status == 200)
            #expect(try await anna.reply(AccountRequest()).status == 429)
        }

        /// Other requests of the person empty the bucket while an append meets damage.
        @Test func theDamageOfAnAppendDoesNotHideBehindALimit() async throws {
            let scene = try await LimitedScene()
            defer { scene.service.shutDown() }
            let statuses = Mutex<[Int]>([])
            scene.engine.beforeNextWrite {
                for call in scene.emptying {
                    let status = await scene.service.answer(call).status
                    statuses.withLock { $0.append(status) }
                }
                scene.failing.fail(.store(.damaged))
            }
            let reply = try await scene.anna.reply(try scene.founding.next(by: scene.anna))
            #expect(statuses.withLock { $0 } == Array(repeating: 200, count: 9))
            #expect(reply.status == 503 && reply.cause == .damaged)
            #expect(await !scene.service.isHealthy())
        }

        /// A session that was stolen ends while an append of it is judged, for which there was room.
        @Test func A236_aSessionThatHasEndedBringsNobodyIntoDebt() async throws {
            let scene = try await LimitedScene()
            defer { scene.service.shutDown() }
            let ending = Account.beginning(try Era.first.next(), of: scene.anna.user)
            scene.engine.beforeNextWrite {
                for call in scene.emptying { _ = await scene.service.answer(call) }
                _ = try? await scene.bench.engine.write([ending])
            }
            // Of the next one there is nothing to take.
            #expect(try await scene.anna.reply(try scene.founding.next(by: scene.anna)).status == 429)
        }

        /// An id serves one request, and one that comes again gets its answer again.
        @Test func A129_anIdServesOneAppend() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let founding = try anna.founding()
            _ = try await anna.ask(founding)
            let second = try founding.next(by: anna)
            let third = try second.next(by: anna)
            let id = try randomBytes(16)
            for _ in 0..<2 { #expect(try await anna.ask(second, id: id).outcome == .done) }
            #expect(try await anna.reply(third, id: id) == .refused(.failed(.other)))
            #expect(try await bench.rows()[1].count == 2)
            #expect(try await anna.ask(third).outcome == .done)
        }

        /// A row that another process wrote in the meantime is a conflict, and the next place is free.
        @Test func aPlaceThatWasTakenElsewhereIsAConflict() async throws {
            let bench = try await Bench()
            let other = try await bench.anotherService()
            let anna = try await bench.person("anna")
            let founding = try anna.founding()
            _ = try await anna.ask(founding)
            let second = try founding.next(by: anna)
            #expect(try await anna.at(other).ask(second).outcome == .done)
            bench.clock.now += 1
            #expect(try await anna.ask(try founding.next(by: anna)).outcome == .conflict)
            #expect(try await anna.ask(try second.next(by: anna)).outcome == .done)
            #expect(try await bench.service.check().isClean)
        }

        /// A head is known by the session that has held, for a minute, with a small body and at its own address.
        @Test func A230_aSessionIsKnownByWhatHasHeldAlone() async throws {
            let bench = try await Bench()
            let (anna, eve) = (try await bench.person("anna"), try bench.stranger("eve"))
            let (device, _) = try await anna.trustedDevice()
            let service = bench.service
            func known(_ signer: Signer, _ audiences: [Audience] = [.ofTests], byteCount: Int = 10) throws -> UserID? {
                service.knows(
                    ServiceHead(
                        operation: .append, bodyByteCount: byteCount,
                        authorization: try signer.call(.append, []).authorization, source: [], audiences: audiences))
            }
            #expect(try known(anna) == anna.user)
            #expect(try known(anna, byteCount: 1 << 20) == nil)
            #expect(try known(anna, []) == nil)
            #expect(try known(eve) == nil)
            let unheard = try bench.signer(anna.identity)
            #expect(try known(unheard) == nil)
            #expect(try await device.reply(AccountRequest()) == .forbidden)
            #expect(try known(device) == nil)
            bench.clock.now += 60
            #expect(try known(anna) == anna.user)
            bench.clock.now += 1
            #expect(try known(anna) == nil)
        }

        /// A session of an old generation takes nothing from the bucket of its person, and a request of a new one once.
        @Test func A233_anAppendIsCountedOnceAndAnEndedOneNever() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let few = try await bench.anotherService { $0.quotas.requestsPerSecond = 1 }
            let former = anna.at(few)
            let founding = try former.founding()
            _ = try await former.ask(founding)
            let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
            _ = try await bench.engine.write([Account.replacement(by: renewed.chain, after: 0)])
            #expect(try await former.reply(try founding.next(by: former)) == .unauthorized)
            let next = try bench.signer(renewed).at(few)
            // Ten at once: the first one founded the tresor. Here each is likely to be answered, and is refused.
            let refused = try founding.next(by: try bench.stranger("eve"))
            for _ in 0..<9 { #expect(try await next.reply(refused).status < 429) }
            #expect(try await next.reply(refused).status == 429)
        }

        /// A bench whose accounts may ask ten times at once, for one more each second.
        private static func benchOfTen() async throws -> (Bench, MeddlingEngine, Service) {
            let bench = try await Bench()
            let engine = MeddlingEngine(bench.engine)
            var settings = bench.settings
            settings.quotas.requestsPerSecond = 1
            return (bench, engine, try Service(engine: engine, settings: settings))
        }

        /// While an append of an ended session is tried, the session that lives has the whole bucket.
        @Test func A233_anEndedSessionTakesNothingForAWhileEither() async throws {
            let (bench, engine, service) = try await Self.benchOfTen()
            let former = try await bench.person("anna").at(service)
            let founding = try former.founding()
            #expect(try await former.ask(founding).outcome == .done)
            let renewed = try former.identity.renewCard(time: bench.clock.now).identity
            let change = Account.replacement(by: renewed.chain, after: 0)
            let next = try bench.signer(renewed).at(service)
            let answers = Mutex<[Int]>([])
            engine.beforeNextWrite { [bench] in
                _ = try? await bench.engine.write([change])
                for _ in 0..<10 {
                    let status = (try? await next.reply(AccountRequest()))?.status ?? 0
                    answers.withLock { $0.append(status) }
                }
            }
            #expect(try await former.reply(try founding.next(by: former)) == .unauthorized)
            // Founding has taken one of ten.
            let statuses = answers.withLock { $0 }
            #expect(statuses == [Int](repeating: 200, count: 9) + [429])
        }

        /// Each append is counted, also one that was written when others had emptied the bucket.
        @Test func A233_anAppendAtOnceIsCounted() async throws {
            let (bench, engine, service) = try await Self.benchOfTen()
            let anna = try await bench.person("anna").at(service)
            var last = try anna.founding()
            #expect(try await anna.ask(last).outcome == .done)
            for _ in 0..<4 {
                last = try last.next(by: anna)
                #expect(try await anna.ask(last).outcome == .done)
            }
            let answers = Mutex<[Int]>([])
            engine.beforeNextWrite {
                for _ in 0..<6 {
                    let status = (try? await anna.reply(AccountRequest()))?.status ?? 0
                    answers.withLock { $0.append(status) }
                }
            }
            last = try last.next(by: anna)
            #expect(try await anna.ask(last).outcome == .done)
            let statuses = answers.withLock { $0 }
            #expect(statuses == [Int](repeating: 200, count: 5) + [429])
            // It waits for two: the one that was beyond the bucket, and its own.
            let refused = try await anna.reply(try last.next(by: anna))
            #expect(refused.status == 429 && refused.retryAfter == 3)
        }
    }
#endif
