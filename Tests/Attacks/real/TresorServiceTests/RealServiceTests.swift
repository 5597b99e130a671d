// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOHTTP1
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// Each attack on the service that a check defeats is tried twice: as things are, when it is refused, and with that
    /// one check disabled, when it reaches its end. Built and run by `scripts/attacks` alone; `attacks.tsv`
    /// says which check defeats which attack.
    @Suite struct RealServiceTests {
        /// Tries an attack as things are, and without the check that defeats it.
        ///
        /// - Parameter attack: whether it reached its end.
        static func expectReal(
            without mutation: Mutation, at source: SourceLocation = #_sourceLocation,
            _ attack: () async throws -> Bool
        ) async throws {
            let refused = try await Experiment.$current.withValue(Experiment()) { try await attack() }
            #expect(!refused, "as things are", sourceLocation: source)
            let weak = Experiment(applying: [mutation])
            let reached = try await Experiment.$current.withValue(weak) { try await attack() }
            #expect(reached, "without \(mutation)", sourceLocation: source)
        }

        @Test func A119_withoutTheChecksASessionServesEverything() async throws {
            try await Self.expectReal(without: .requestSignature) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let call = try anna.call(CardRequest(user: anna.user))
                let other = ServiceCall(
                    operation: .tresors, body: TresorsRequest(after: .zero).bytes, authorization: call.authorization,
                    source: [])
                return await bench.service.answer(other).status == 200
            }
            try await Self.expectReal(without: .sessionServer) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let key = try SessionKey(
                    of: anna.identity, device: nil, server: .zero, since: bench.clock.now, duration: 60)
                let other = Signer(service: bench.service, clock: bench.clock, identity: anna.identity, key: key)
                return try await other.reply(AccountRequest()).status == 200
            }
            try await Self.expectReal(without: .sessionSignature) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let eve = try await bench.person("eve")
                let call = try Self.call(AccountRequest(), naming: anna, by: eve)
                return await bench.service.answer(call).status == 200
            }
        }

        /// A request in the name of somebody else, with a statement that the speaker signed.
        private static func call<Request: ServiceRequest>(
            _ request: Request, naming other: Signer, by signer: Signer
        ) throws -> ServiceCall {
            let good = signer.key.statement
            let key = try SigningKey(seed: try SecretKey<SigningUse>())
            let statement = try SessionStatement(
                kind: .identity, server: good.server, user: other.user, generation: good.generation, device: nil,
                key: key.publicKey, since: good.since, until: good.until
            ) { (label, bytes) throws(TresorError) in try signer.identity.sign(label, bytes) }
            let id = try randomBytes(16)
            let signed = try RequestStatement(
                session: try statement.hash(), id: id, time: signer.clock.now, operation: Request.operation,
                body: request.bytes)
            let text = Authorization(
                statement: statement, id: id, time: signer.clock.now, signature: try key.sign(signed.message)
            ).text
            return ServiceCall(operation: Request.operation, body: request.bytes, authorization: text, source: [])
        }

        @Test func A121_withoutTheCheckAThiefOfOldKeysFinishesARegistration() async throws {
            try await Self.expectReal(without: .resumedChain) {
                let bench = try await Bench(.closed)
                let anna = try bench.stranger("anna")
                _ = try await anna.ask(anna.registration())
                let renewed = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
                _ = try await renewed.ask(renewed.registration())
                let thief = try bench.signer(try anna.identity.renewCard(time: bench.clock.now + 1).identity)
                guard try await thief.reply(thief.registration()).status == 200 else { return false }
                return try await thief.ask(try thief.finishing()).state == .complete
            }
        }

        @Test func A121_withoutTheCheckAnAccountReservesAnothersHandle() async throws {
            try await Self.expectReal(without: .registeredUser) {
                let bench = try await Bench(.open)
                func identity(_ handle: String) throws -> Identity {
                    let seed = try SecretBytes(copying: [UInt8](repeating: 7, count: 32).span)
                    return try Identity.make(
                        handle: try Name(typed: handle), time: bench.clock.now, seed: try SecretKey(seed))
                }
                let eve = try bench.signer(try identity("eve"))
                _ = try await eve.ask(eve.registration())
                let taken = RegisterRequest(chain: try identity("house").chain.bytes, invitation: [], blinded: [])
                guard try await eve.reply(taken).status == 200 else { return false }
                let house = try bench.stranger("house")
                return try await house.reply(house.registration()) == .refused(.unverified)
            }
        }

        @Test func A124_withoutTheChecksADeviceFetchesWhatIsNotItsOwn() async throws {
            try await Self.expectReal(without: .removedDevice) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let (_, share) = try await anna.trustedDevice()
                let speaking = try bench.signer(anna.identity, device: share.id)
                _ = try await anna.ask(DeleteServerSharesRequest(devices: [share.id]))
                return try await speaking.reply(AccountRequest()).status == 200
            }
            try await Self.expectReal(without: .ownShare) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let (device, _) = try await anna.trustedDevice()
                let (_, other) = try await anna.trustedDevice()
                let reply = try await device.reply(ServerShareRequest(device: other.id))
                return try reply.status == 200 && ServerShareAnswer(reply.body).share.count == 32
            }
            try await Self.expectReal(without: .spentRequest) {
                let bench = try await Bench()
                let engine = FailingEngine(bench.engine)
                let service = try Service(engine: engine, settings: bench.settings)
                defer { service.shutDown() }
                bench.clock.now += 301
                let (device, share) = try await bench.person("anna").trustedDevice()
                let call = try device.call(ServerShareRequest(device: share.id))
                engine.fail(.store(.full))
                guard await service.answer(call).status == 200 else { return false }
                engine.fail(nil)
                return await service.answer(call).status == 200
            }
            try await Self.expectReal(without: .spentOnDisk) {
                let bench = try await Bench()
                let failing = FailingEngine(bench.engine)
                let engine = MeddlingEngine(failing)
                let service = try Service(engine: engine, settings: bench.settings)
                defer { service.shutDown() }
                bench.clock.now += 301
                let (device, share) = try await bench.person("anna").trustedDevice()
                let call = try device.call(ServerShareRequest(device: share.id))
                engine.beforeNextWrite {
                    // A copy has the share, and then the disk is full.
                    _ = await service.answer(call)
                    failing.fail(.store(.full))
                }
                return await service.answer(call).status == 200
            }
        }

        private static func accepts(_ more: [(String, String)], host: String = "tresor.example") -> Bool {
            let headers = [("Host", host), ("Content-Length", "0"), ("Content-Type", WireForm.mediaType)] + more
            let head = HTTPRequestHead(
                version: .http1_1, method: .POST, uri: "/v1/server", headers: HTTPHeaders(headers))
            return (try? HeadRule.service(named: "tresor.example").accept(head)) != nil
        }

        @Test func A125_withoutTheChecksAPageSpeaks() async throws {
            try await Self.expectReal(without: .siteOfPage) { Self.accepts([("Origin", "https://evil.example")]) }
            try await Self.expectReal(without: .hostName) { Self.accepts([], host: "evil.example") }
        }

        @Test func A126_withoutTheCheckARequestHasTwoLengths() async throws {
            try await Self.expectReal(without: .oneLength) { Self.accepts([("Content-Length", "5")]) }
        }

        @Test func A127_withoutTheCheckAnErrorTellsThatATresorIsThere() async throws {
            try await Self.expectReal(without: .oneRefusal) {
                let house = try await Household(Bench())
                let stranger = try await house.bench.person("stranger")
                let head = try await house.state().head
                let entry = try Entry(
                    tresor: house.tresor, sequence: head.sequence + 1, previous: head.hash,
                    author: house.owner.identity,
                    time: house.bench.clock.now, body: .additive(.sample))
                var bytes = entry.bytes
                bytes[bytes.count - 1] ^= 1
                let request = AppendRequest(
                    tresor: house.tresor, sequence: entry.sequence, previous: entry.previous, entry: bytes, wraps: [],
                    removing: [])
                return try await stranger.reply(request) != .forbidden
            }
        }

        @Test func A128_withoutTheChecksAPersonDoesWhatTheyMayNot() async throws {
            try await Self.expectReal(without: .readerMembership) {
                let house = try await Household(Bench())
                let removed = try house.signer(house.removed)
                let request = WrapsRequest(tresor: house.tresor, epoch: nil, users: [house.reader.user])
                return try await removed.reply(request).status == 200
            }
            try await Self.expectReal(without: .callerMembership) {
                let house = try await Household(Bench())
                let request = try await house.request(.additive(.sample), by: house.owner)
                return try await house.bench.person("stranger").reply(request).status == 200
            }
            try await Self.expectReal(without: .fittingPart) {
                let house = try await Household(Bench())
                let commit = try await BlobTests.Commit(in: house, by: house.writer)
                let writer = try house.signer(house.writer)
                _ = try await writer.ask(commit.request)
                _ = try await writer.reply(
                    PutBlobRequest(tresor: house.tresor, hash: commit.pack.hash, part: 1, bytes: [1]))
                let wanted = BlobsRequest(tresor: house.tresor, hashes: [commit.pack.hash])
                return try await house.signer(house.reader).ask(wanted).blobs.first != commit.pack.bytes
            }
            try await Self.expectReal(without: .askedApprover) {
                try await ApprovalTests().takesAnotherApprover()
            }
            try await Self.expectReal(without: .ownBlobs) {
                let house = try await Household(Bench())
                let put = PutBlobRequest(tresor: house.tresor, hash: .zero, part: 0, bytes: [1])
                _ = try await house.signer(house.owner).ask(put)
                let deletion = DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero])
                return try await house.signer(house.writer).reply(deletion).status == 200
            }
        }

        @Test func A129_withoutTheCheckAnIdServesTwoBodies() async throws {
            try await Self.expectReal(without: .requestBody) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let id = try randomBytes(16)
                _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]), id: id)
                let other = PutKitCopyRequest(locator: anna.user.digest, copy: [2])
                return try await anna.reply(other, id: id).status == 200
            }
        }

        @Test func A130_withoutTheCheckWhoPutsALogBackBringsWraps() async throws {
            try await Self.expectReal(without: .restoredWraps) {
                let house = try await Household(Bench())
                let (epoch, wraps) = try await house.epoch()
                let request = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
                return try await house.signer(house.reader).reply(request).status == 200
            }
        }

        @Test func A231_withoutTheChecksAnAccountTakesTheServiceForItself() async throws {
            try await Self.expectReal(without: .ownTurn) {
                let works = Works(width: 2)
                for _ in 0..<2 { await works.begin(for: 1) }
                let counts = works.work.counts
                _ = await works.finish()
                return counts == (2, 0)
            }
            try await Self.expectReal(without: .paidWork) {
                let works = Works(count: 100)
                for _ in 0..<4 {
                    do { try await works.run(60, for: 1) } catch { return false }
                }
                return true
            }
            try await Self.expectReal(without: .paidStatements) {
                try await Household(Bench()).removals() == [Int](repeating: 200, count: 10)
            }
            try await Self.expectReal(without: .boundedState) {
                let house = try await Household(Bench())
                let cost = HeldMemory.byteCount(of: try await house.state())
                let small = try await house.bench.anotherService { $0.stateByteCount = 2 * cost }
                let request = try await house.request(.additive(.sample), by: house.owner)
                return try await house.signer(house.owner).at(small).reply(request).status == 200
            }
            try await Self.expectReal(without: .fittingState) {
                let house = try await Household(Bench())
                let small = try await house.state()
                let large = try await house.cast.tresor("second", of: house.owner).state()
                let cache = StateCache(engine: house.bench.engine, work: Works().work, greatestCost: 2_000)
                cache.keep(small, cost: 1_000, folded: 0)
                cache.keep(large, cost: 1_001, folded: 0)
                return cache.known(small.tresor) == nil
            }
            try await Self.expectReal(without: .erasedPortion) {
                let house = try await Household(Bench())
                try await BlobRoomTests.putParts(65, in: house)
                let engine = MeddlingEngine(house.bench.engine)
                let service = try Service(engine: engine, settings: house.bench.settings)
                let deletion = DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero])
                _ = try await house.signer(house.owner).at(service).ask(deletion)
                try await service.sweep()
                return engine.takeTexts().filter { $0.hasPrefix("DELETE FROM blobs ") }.count == 1
            }
            try await Self.expectReal(without: .deletedRoom) {
                try await ReserveTests.writeAndDelete(in: Household(Bench())).count == 20
            }
            try await Self.expectReal(without: .wholeParts) {
                let house = try await Household(Bench())
                for part: UInt32 in 0..<2 {
                    guard try await Self.put(part, in: house) == 200 else { return false }
                }
                return true
            }
            try await Self.expectReal(without: .peopleOfPage) {
                let house = try await Household(Bench())
                let users = (UInt8(1)...17).map { UserID(Hash256([UInt8](repeating: $0, count: 32)) ?? .zero) }
                let request = WrapsRequest(tresor: house.tresor, from: 0, users: users)
                return try await house.signer(house.reader).ask(request).wraps.count == users.count
            }
        }

        /// A part of one byte, which the writer puts.
        private static func put(
            _ part: UInt32, of hash: Hash256 = .zero, in house: Household, at service: Service? = nil
        ) async throws -> Int {
            let writer = try house.signer(house.writer).at(service ?? house.bench.service)
            let request = PutBlobRequest(tresor: house.tresor, hash: hash, part: part, bytes: [1])
            return try await writer.reply(request).status
        }

        @Test func A239_withoutTheCheckAChainTakesMoreThanIsCounted() async throws {
            try await Self.expectReal(without: .heldCards) {
                let house = try await Household(Bench())
                var state = try await house.state()
                var person = house.owner.identity
                for _ in 0..<15 { person = try person.renewCard(time: house.bench.clock.now).identity }
                let before = HeldMemory.byteCount(of: state)
                state.chains[person.user] = person.chain
                return HeldMemory.byteCount(of: state) - before < 15 * 1_720
            }
        }

        @Test func A240_withoutTheCheckAChainIsVerifiedForNothing() async throws {
            try await Self.expectReal(without: .comparedFirst) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let request = PutCardRequest(chain: try CardTests.broken(anna), replacing: [1])
                return try await anna.reply(request) == .refused(.altered)
            }
        }

        @Test func A248_withoutTheCheckALogWakesItsMembersAllTheTime() async throws {
            try await Self.expectReal(without: .pausedLook) {
                let feed = NewsFeed()
                let now = ContinuousClock.now
                return feed.nextLook(for: UserID(.zero), at: now) == feed.nextLook(for: UserID(.zero), at: now)
            }
            try await Self.expectReal(without: .unreadStranger) {
                let house = try await Household(Bench())
                let (eve, anna) = (try await house.cast.person("eve"), try await house.cast.person("anna"))
                try house.cast.introduce(eve, anna)
                _ = try await house.cast.tresor("bait", of: eve, readers: [anna])
                try anna.client.home.delete(.pins)
                return try await anna.allTresors().map(\.isRead) == [true]
            }
        }

        @Test func A232_withoutTheChecksAWriterUsesUpTheRoomOfTheOwners() async throws {
            /// A blob of the writer, at a process that leaves them so many bytes.
            func put(_ house: Household, _ count: Int, leaving bytes: UInt64) async throws -> Int {
                let used = try await house.signer(house.owner).ask(AccountRequest()).bytes
                let service = try await house.bench.anotherService {
                    $0.quotas.bytes = AuthorRoomTests.quota(leaving: bytes, beside: used)
                }
                let request = PutBlobRequest(
                    tresor: house.tresor, hash: .zero, part: 0, bytes: [UInt8](repeating: 1, count: count))
                return try await house.signer(house.writer).at(service).reply(request).status
            }
            try await Self.expectReal(without: .authorShare) {
                try await put(Household(Bench()), 200_000, leaving: 300_000) == 200
            }
            try await Self.expectReal(without: .ownerAct) {
                let house = try await Household(Bench())
                let used = try await house.signer(house.owner).ask(AccountRequest()).bytes
                guard try await put(house, 200_000, leaving: 1 << 20) == 200 else { return false }
                let service = try await house.bench.anotherService { $0.quotas.bytes = (used + 100_000) / 2 }
                let (epoch, wraps) = try await house.epoch()
                let request = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
                return try await house.signer(house.owner).at(service).reply(request).status == 507
            }
            try await Self.expectReal(without: .partNumber) {
                try await Self.put(1 << 22, in: Household(Bench())) == 200
            }
            try await Self.expectReal(without: .leastPart) {
                let house = try await Household(Bench())
                let used = try await house.signer(house.owner).ask(AccountRequest()).bytes
                let service = try await house.bench.anotherService {
                    $0.quotas.bytes = AuthorRoomTests.quota(leaving: 10_000, beside: used)
                }
                for number in UInt8(0)..<30 {
                    let hash = Hash256([UInt8](repeating: number, count: 32)) ?? .zero
                    guard try await Self.put(0, of: hash, in: house, at: service) == 200 else { return false }
                }
                return true
            }
        }
    }
#endif
