// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorService

    extension Household {
        /// A wrap of the current epoch with other keys, which opens nothing.
        func junk(for chain: CardChain) async throws -> Wrap {
            let keys = try EpochKeys(epoch: try await state().epoch)
            return try Wrap(keys, of: tresor, for: chain.newest, user: chain.user, history: .all)
        }

        /// Gives a person new keys, at the service and in the log. Nobody wraps anything for them yet.
        func renew(_ session: Session) async throws -> Signer {
            let next = try session.identity.renewCard(time: bench.clock.now).identity
            let signer = try bench.signer(next)
            _ = try await signer.ask(PutCardRequest(chain: next.chain.bytes, replacing: session.chain.bytes))
            let head = try await state().head
            let entry = try Entry(
                tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: next, generation: 0,
                time: bench.clock.now, body: .renew(RenewBody(next.chain.newest)))
            let request = AppendRequest(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: [],
                removing: [])
            #expect(try await signer.ask(request).outcome == .done)
            return signer
        }

        /// Whether a home that knows nothing yet reaches the current epoch by what the service has.
        func opens(_ identity: Identity) async throws -> Bool {
            let client = Client(home: MemoryHome(), store: store, clock: bench.clock.read)
            let state = try await state()
            let keys = try? await Session(client: client, identity: identity).keyRing.keys(of: state.epoch, in: state)
            return keys != nil
        }

        /// The wraps of a person for the current epoch, in the order of the service.
        func wraps(of user: UserID) async throws -> [[UInt8]] {
            try await signer(owner).ask(
                WrapsRequest(tresor: tresor, epoch: try await state().epoch, users: [user])
            ).wraps[0]
        }
    }

    /// Wraps that people put without an entry.
    @Suite(.overEveryEngine) struct WrapTests {
        /// A client asks on for a person whose wraps stand alone in an answer, and for nobody else.
        @Test func aPageThatIsCutIsThatOfOnePerson() async throws {
            let house = try await Household(Bench())
            let wraps = (0..<3_200).map { number in
                SQL(
                    "INSERT INTO wraps (tresor, account, epoch, putter, since, wrap) VALUES ($1, $2, $3, $4, $5, $6)",
                    [
                        .digest(house.tresor.digest), .digest(house.reader.user.digest),
                        .integer(Int64(1_000 + number)), .digest(house.owner.user.digest), .integer(1),
                        .bytes([UInt8](repeating: 1, count: 1_359)),
                    ])
            }
            _ = try await house.bench.engine.write(wraps)
            let owner = try house.signer(house.owner)
            func answer(_ users: [UserID]) async throws -> [[[UInt8]]] {
                try await owner.ask(WrapsRequest(tresor: house.tresor, from: 0, users: users)).wraps
            }
            let cut = try await answer([house.reader.user, house.writer.user])
            #expect(cut.count == 1 && (2_000..<3_200).contains(cut[0].count))
            #expect(try await answer([house.writer.user, house.reader.user]).count == 1)
            let strangers = try (0..<40).map { _ in UserID(try #require(Hash256(try randomBytes(32)))) }
            #expect(try await answer(strangers).count == 16)
            #expect(try await answer([house.writer.user, strangers[0]]).map(\.isEmpty) == [false, true])
        }

        /// So a request cannot have one wrap judged ten thousand times.
        @Test func A231_ofSeveralWrapsForAPlaceTheFirstCounts() async throws {
            let house = try await Household(Bench())
            let needed = try await house.junk(for: house.reader.chain).bytes
            // A member with full history needs no wrap of the content's key alone.
            let keys = try EpochKeys(epoch: try await house.state().epoch)
            let other = try Wrap(
                keys, of: house.tresor, for: house.reader.chain.newest, user: house.reader.user,
                history: .from(epoch: 1)
            ).bytes
            let before = try await house.wraps(of: house.reader.user)
            let owner = try house.signer(house.owner)
            let good = PutWrapsRequest(tresor: house.tresor, wraps: [needed, other])
            #expect(try await owner.reply(good).status == 200)
            let bad = PutWrapsRequest(tresor: house.tresor, wraps: [other, needed])
            #expect(try await owner.reply(bad) == .refused(.altered))
            #expect(try await house.wraps(of: house.reader.user) == before)
        }

        /// Each wrap is judged, looked up and stored, and its sender pays for that before it is done.
        @Test func A231_anAccountPaysForTheWrapsThatItPuts() async throws {
            let house = try await Household(Bench())
            let user = house.owner.user
            let wrap = try await house.junk(for: house.reader.chain).bytes
            let wraps = (0..<2_000).map { number in
                // The epoch stands behind magic, suite and tresor.
                Array(wrap[..<41]) + bigEndianBytes(UInt64(number) + 100) + Array(wrap[49...])
            }
            let request = PutWrapsRequest(tresor: house.tresor, wraps: wraps)
            let statement = try RequestStatement(
                session: .zero, id: try randomBytes(16), time: house.bench.clock.now, operation: .putWraps,
                body: request.bytes)
            let caller = TresorService.Caller(
                user: user, device: nil, account: nil, chain: nil, request: RequestKey(statement, of: user))
            let context = try ServiceContext(engine: house.bench.engine, settings: house.bench.settings)
            let (key, rate) = (RateLimits.Key.work(user.digest.bytes), RateLimits.Rate.work)
            context.limits.charge(rate.count - 400, key, rate)
            await #expect(throws: TresorError.altered) {
                try await Wraps(context: context).put(request, by: caller)
            }
            #expect(context.limits.look(key, rate) != nil)
        }

        @Test func A238_nobodyReplacesAWrapThatItsReceiverMayOpen() async throws {
            let house = try await Household(Bench())
            let renewed = try await house.renew(house.reader)
            let junk = try await house.junk(for: renewed.identity.chain)
            let put = PutWrapsRequest(tresor: house.tresor, wraps: [junk.bytes])
            let before = try await house.bench.rows()
            #expect(try await house.signer(house.writer).reply(put) == .forbidden)
            #expect(try await house.bench.rows() == before)
            #expect(try await house.opens(renewed.identity))
            // The owner, who gave it, takes it back by nothing.
            let wraps = try await house.wraps(of: renewed.user)
            #expect(try await house.signer(house.owner).reply(put).status == 200)
            #expect(try await house.wraps(of: renewed.user) == wraps)
            #expect(try await house.opens(renewed.identity))
            #expect(try await house.bench.service.check().isClean)
        }

        /// Nobody, not even the author of the epoch, takes back what they gave.
        @Test func A238_anOwnerAddsOnce() async throws {
            let house = try await Household(Bench())
            let first = try await house.wraps(of: house.reader.user)
            try #require(first.count == 1)
            for _ in 0..<2 {
                let put = PutWrapsRequest(
                    tresor: house.tresor, wraps: [try await house.junk(for: house.reader.chain).bytes])
                #expect(try await house.signer(house.owner).reply(put).status == 200)
                #expect(try await house.wraps(of: house.reader.user) == first)
            }
            #expect(try await house.bench.service.check().isClean)
        }

        @Test func A238_aWrapThatDoesNotOpenStandsInNobodysWay() async throws {
            let house = try await Household(Bench())
            let state = try await house.state()
            let user = house.reader.user
            _ = try await house.bench.engine.write([
                SQL("DELETE FROM wraps WHERE account = $1", [.digest(user.digest)])
            ])
            func put(_ wrap: [UInt8], by session: Session) async throws {
                let request = PutWrapsRequest(tresor: house.tresor, wraps: [wrap])
                #expect(try await house.signer(session).reply(request).status == 200)
            }
            try await put(house.junk(for: house.reader.chain).bytes, by: house.writer)
            #expect(try await !house.opens(house.reader.identity))
            let keys = try await house.owner.keyRing.keys(of: state.epoch, in: state)
            func good() throws -> [UInt8] {
                try Wrap(keys, of: house.tresor, for: house.reader.chain.newest, user: user, history: .all).bytes
            }
            try await put(good(), by: house.owner)
            #expect(try await house.opens(house.reader.identity))
            // The receiver replaces their own alone.
            for _ in 0..<2 {
                try await put(good(), by: house.reader)
                #expect(try await house.wraps(of: user).count == 3)
            }
        }

        @Test func A238_thereAreSixteenPlacesAndTheReceiverHasOne() async throws {
            let house = try await Household(Bench())
            let state = try await house.state()
            var present: [PresentWrap] = []
            while present.count < Wrap.maximumCount - 1 {
                let putter = UserID(try #require(Hash256(try randomBytes(32))))
                present.append(
                    PresentWrap(putter: putter, bytes: try await house.junk(for: house.reader.chain).bytes))
            }
            let wrap = try await house.junk(for: house.reader.chain)
            #expect(throws: TresorError.failed(.full)) {
                try WrapRules.change(present, adding: wrap, by: house.owner.user, .owner, in: state)
            }
            let added = WrapRules.Placement(going: [], isAdded: true)
            #expect(try WrapRules.change(present, adding: wrap, by: house.reader.user, .reader, in: state) == added)
            let last = present.removeLast()
            #expect(try WrapRules.change(present, adding: wrap, by: house.owner.user, .owner, in: state) == added)
            // Bytes that are no wrap of this place count as none.
            let damaged = PresentWrap(putter: last.putter, bytes: [1])
            let change = try WrapRules.change(
                [damaged], adding: wrap, by: house.writer.user, .writer, in: state)
            #expect(change == WrapRules.Placement(going: [damaged], isAdded: true))
        }
    }
#endif
