// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorService

    /// The attacks on the accounts of people, and on what is kept for them.
    extension RealServiceTests {
        @Test func A233_withoutTheCheckAnOldSeedShutsItsPersonOut() async throws {
            try await Self.expectReal(without: .resumedChain) {
                let bench = try await Bench()
                let thief = try await bench.person("anna")
                let anna = try bench.signer(try thief.identity.renewCard(time: bench.clock.now).identity)
                _ = try await anna.ask(
                    PutCardRequest(chain: anna.identity.chain.bytes, replacing: thief.identity.chain.bytes))
                _ = try await thief.reply(thief.registration())
                return try await anna.reply(AccountRequest()).status != 200
            }
        }

        @Test func A234_withoutTheCheckAStrangerKeepsTheInvitedAway() async throws {
            try await Self.expectReal(without: .invitedFirst) {
                let bench = try await Bench(.byInvitation)
                let squatter = try bench.stranger("dave")
                _ = try await squatter.ask(squatter.registration())
                let invitation = try Invitation()
                _ = try await bench.admin.ask(
                    InviteRequest(hash: try invitation.hash(), label: .empty, until: bench.clock.now + 10))
                let dave = try bench.stranger("dave")
                return try await dave.reply(dave.registration(invitation: invitation)) == .refused(.unverified)
            }
        }

        @Test func A238_withoutTheCheckAWriterTakesAWrapAway() async throws {
            try await Self.expectReal(without: .standingWrap) {
                let house = try await Household(Bench())
                let renewed = try await house.renew(house.reader)
                let junk = try await house.junk(for: renewed.identity.chain)
                _ = try await house.signer(house.writer).reply(
                    PutWrapsRequest(tresor: house.tresor, wraps: [junk.bytes]))
                return try await !house.opens(renewed.identity)
            }
            try await Self.expectReal(without: .lonePage) {
                let house = try await Household(Bench())
                let (reader, owner) = (house.reader.user, house.owner.user)
                let junk = (0..<3_200).map { number in
                    SQL(
                        """
                        INSERT INTO wraps (tresor, account, epoch, putter, since, wrap)
                        VALUES ($1, $2, $3, $4, 1, $5)
                        """,
                        [
                            .digest(house.tresor.digest), .digest(reader.digest), .integer(Int64(1_000 + number)),
                            .digest(owner.digest), .bytes([UInt8](repeating: 1, count: 1_359)),
                        ])
                }
                _ = try await house.bench.engine.write(junk)
                let request = WrapsRequest(tresor: house.tresor, from: 0, users: [reader])
                let reply = try await house.signer(house.reader).reply(request)
                // More than a client takes.
                return reply.body.count > ServiceOperation.pageByteCount + (64 << 10)
            }
        }

        @Test func A242_withoutTheCheckWhoeverWritesTheFileGetsAnAccount() async throws {
            try await Self.expectReal(without: .importedMembers) {
                let bench = try await Bench(.closed)
                let embedded = MemoryStore()
                let ghost = try await PreviewCast(store: embedded, clock: bench.clock).person("chief-physician")
                _ = try await bench.service.importWhole(embedded)
                let signer = try bench.signer(ghost.identity)
                return try await signer.reply(signer.founding()).status == 200
            }
        }

        @Test func A244_withoutTheCheckACopyOfARequestGetsAnotherAnswer() async throws {
            try await Self.expectReal(without: .repeatedRequest) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let call = try anna.call(try anna.founding())
                let engine = MeddlingEngine(bench.engine)
                let slow = try Service(engine: engine, settings: bench.settings)
                engine.beforeNextWrite { _ = await bench.service.answer(call) }
                return await slow.answer(call) == ServiceReply(OutcomeAnswer(.conflict))
            }
        }

        @Test func A251_withoutTheCheckACardIsAdmittedThatNobodySaw() async throws {
            try await Self.expectReal(without: .shownCard) {
                let bench = try await Bench(.closed)
                let anna = try bench.stranger("anna")
                _ = try await anna.ask(anna.registration())
                _ = try await anna.ask(try anna.finishing())
                let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
                let engine = MeddlingEngine(bench.engine)
                let admin = Signer(
                    service: try Service(engine: engine, settings: bench.settings), clock: bench.clock,
                    identity: bench.operatorIdentity, key: try bench.admin.key)
                engine.behindNextRead([Account.replacement(by: renewed.chain, after: 0)])
                let card = anna.identity.chain.newest.hash
                _ = try await admin.reply(AdmitRequest(user: anna.user, card: card, isAdmitted: true))
                return try await bench.signer(renewed).reply(AccountRequest()).status == 200
            }
        }
    }
#endif
