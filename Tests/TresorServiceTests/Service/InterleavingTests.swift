// SPDX-License-Identifier: Apache-2.0

#if Server
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Requests between whose steps another process does something.
    @Suite(.overEveryEngine) struct InterleavingTests {
        @Test func A244_aCopyOfARequestThatComesBehindGetsTheAnswerOfTheFirst() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let founding = try anna.founding()
            _ = try await anna.ask(founding)
            let entry = try Entry(
                tresor: founding.tresor, sequence: 1, previous: try Entry(founding.entry).hash(),
                author: anna.identity, time: bench.clock.now, body: .additive(.sample))
            let request = AppendRequest(
                tresor: entry.tresor, sequence: 1, previous: entry.previous, entry: entry.bytes, wraps: [],
                removing: [])
            let call = try anna.call(request)
            let engine = MeddlingEngine(bench.engine)
            let slow = try Service(engine: engine, settings: bench.settings)
            engine.beforeNextWrite { _ = await bench.service.answer(call) }
            #expect(await slow.answer(call) == ServiceReply(OutcomeAnswer(.done)))
            #expect(try await bench.rows()[1].count == 2)
            // Another request for the same place is a conflict.
            #expect(try await anna.reply(request) == ServiceReply(OutcomeAnswer(.conflict)))
        }

        /// An account that is closed after a request of it was authenticated takes no secret any more.
        @Test func aClosedAccountTakesNoSecrets() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = MeddlingEngine(bench.engine)
            let slow = try Service(engine: engine, settings: bench.settings)
            let copy = PutKitCopyRequest(locator: .zero, copy: [1])
            engine.beforeNextWrite { [bench] in
                _ = try? await bench.engine.write([SQL("UPDATE accounts SET state = 4")])
            }
            #expect(try await anna.at(slow).reply(copy) == .forbidden)
            #expect(try await bench.engine.read(SQL("SELECT locator FROM kit_copies")).isEmpty)
        }

        /// A row that the first one ended looks to the second one as if it had never been there.
        @Test func A244_aCopyThatFindsNothingGetsTheAnswerOfTheFirst() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            let refusal = AdmitRequest(user: anna.user, card: anna.identity.chain.newest.hash, isAdmitted: false)
            let call = try bench.admin.call(refusal)
            let engine = MeddlingEngine(bench.engine)
            let slow = try Service(engine: engine, settings: bench.settings)
            engine.beforeNextWrite { _ = await bench.service.answer(call) }
            #expect(await slow.answer(call) == ServiceReply(DoneAnswer()))
            #expect(try await bench.admin.reply(refusal) == .forbidden)
        }

        @Test func A251_aCardThatTheOperatorWasNotShownIsNotDecidedOn() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(try anna.finishing())
            let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
            let engine = MeddlingEngine(bench.engine)
            let admin = Signer(
                service: try Service(engine: engine, settings: bench.settings), clock: bench.clock,
                identity: bench.operatorIdentity, key: try bench.admin.key)
            for isAdmitted in [true, false] {
                engine.behindNextRead([Account.replacement(by: renewed.chain, after: 0)])
                let decision = AdmitRequest(
                    user: anna.user, card: anna.identity.chain.newest.hash, isAdmitted: isAdmitted)
                #expect(try await admin.reply(decision).status == 429)
                #expect(try await anna.ask(AccountRequest()).state == .complete)
            }
        }

        @Test func A251_whatIsCountedStaysSoUntilTheEnd() async throws {
            let bench = try await Bench(.closed)
            let engine = MeddlingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            func expectHeld(_ user: UserID, source: SourceLocation = #_sourceLocation) throws {
                let texts = engine.takeTexts()
                let counting = try #require(
                    texts.firstIndex { $0.contains("count(*)") }, "\(texts)", sourceLocation: source)
                #expect(
                    texts.prefix(counting).contains(Account.holding(user).text), "\(texts)", sourceLocation: source)
            }
            let anna = try bench.stranger("anna")
            let speaking = Signer(service: service, clock: bench.clock, identity: anna.identity, key: anna.key)
            _ = try await speaking.ask(anna.registration())
            try expectHeld(bench.operatorIdentity.user)
            let admin = Signer(
                service: service, clock: bench.clock, identity: bench.operatorIdentity, key: try bench.admin.key)
            _ = engine.takeTexts()
            _ = try await admin.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            try expectHeld(admin.user)
            _ = try await admin.ask(PutServerShareRequest(DeviceShare(user: admin.user)))
            try expectHeld(admin.user)
        }

        private static func invite(_ bench: Bench) async throws -> Invitation {
            let invitation = try Invitation()
            _ = try await bench.admin.ask(
                InviteRequest(
                    hash: try invitation.hash(), label: .empty, until: bench.clock.now + Invitation.duration))
            return invitation
        }

        /// Admits somebody in PostgreSQL behind everybody's back. Who finds the row held does not wait, and comes later.
        private static func admitUnlessHeld(_ user: UserID, _ bench: Bench) async throws -> Bool {
            try await bench.engine.write([
                SQL(
                    """
                    UPDATE accounts SET state = 3 WHERE account IN
                    (SELECT account FROM accounts WHERE account = $1 FOR UPDATE SKIP LOCKED)
                    """, [.digest(user.digest)])
            ]) == [1]
        }

        /// A refusal holds the row from its look to its decision: nobody is admitted in between.
        @Test func A251_aDecisionIsAboutWhatItHolds() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            let engine = MeddlingEngine(bench.engine)
            let admin = Signer(
                service: try Service(engine: engine, settings: bench.settings), clock: bench.clock,
                identity: bench.operatorIdentity, key: try bench.admin.key)
            let refusal = AdmitRequest(user: anna.user, card: anna.identity.chain.newest.hash, isAdmitted: false)
            if EngineKind.current == .postgres {
                let pause = engine.pause(behind: "SELECT state, chain, invitation FROM accounts")
                let deciding = Task { try await admin.reply(refusal).status }
                try await pause.reach()
                let isAdmitted = try await Self.admitUnlessHeld(anna.user, bench)
                pause.end()
                #expect(try await deciding.value == 200)
                #expect(!isAdmitted)
            } else {
                #expect(try await admin.reply(refusal).status == 200)
            }
            #expect(engine.takeTexts().first == Account.holding(anna.user).text)
        }

        /// An operator admits somebody whose request with an invitation is under way: before its row is held, or after it.
        @Test func A251_aRegistrationTakesNoAdmissionBack() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            #expect(try await anna.ask(anna.finishing()).state == .complete)
            let invitation = try await Self.invite(bench)
            let engine = MeddlingEngine(bench.engine)
            let slow = try Service(engine: engine, settings: bench.settings)
            let request = anna.registration(invitation: invitation)
            var isAdmitted = false
            if EngineKind.current == .postgres {
                let pause = engine.pause(behind: "SELECT state, chain, statement, invitation FROM accounts")
                let registering = Task { try await anna.at(slow).reply(request).status }
                try await pause.reach()
                isAdmitted = try await Self.admitUnlessHeld(anna.user, bench)
                pause.end()
                #expect(try await registering.value == 200)
            } else {
                #expect(try await anna.at(slow).reply(request).status == 200)
            }
            if !isAdmitted {
                let card = anna.identity.chain.newest.hash
                _ = try await bench.admin.ask(AdmitRequest(user: anna.user, card: card, isAdmitted: true))
            }
            #expect(try await anna.ask(AccountRequest()).state == .active)
        }

        /// Somebody finishes late with an invitation that another one brings at the same time.
        @Test func A251_anInvitationAdmitsOnePerson() async throws {
            let bench = try await Bench(.byInvitation)
            let invitation = try await Self.invite(bench)
            let early = try bench.stranger("anna")
            _ = try await early.ask(early.registration(invitation: invitation))
            bench.clock.now += Registrations.lapse + 1
            let (anna, bert) = (try bench.signer(early.identity), try bench.stranger("bert"))
            let engine = MeddlingEngine(bench.engine)
            let slow = try Service(engine: engine, settings: bench.settings)
            let finish = try anna.finishing()
            let request = bert.registration(invitation: invitation)
            if EngineKind.current == .postgres {
                let pause = engine.pause(behind: "UPDATE accounts SET state = $2, statement")
                let finishing = Task { try await anna.at(slow).ask(finish).state }
                try await pause.reach()
                let registering = Task { try await bert.reply(request) }
                let waiting = SQL(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """)
                try await wait(looks: 100_000) { try await bench.engine.read(waiting).first?.integer(0) != 0 }
                pause.end()
                #expect(try await finishing.value == .active)
                #expect(try await registering.value == .forbidden)
            } else {
                #expect(try await anna.at(slow).ask(finish).state == .active)
                #expect(try await bert.reply(request) == .forbidden)
            }
            #expect(try await bert.reply(AccountRequest()) == .unauthorized)
        }
    }
#endif
