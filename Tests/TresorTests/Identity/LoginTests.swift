// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The client's side of log-ins by password, before a service that may show anything.
@Suite struct LoginTests {
    let world = World()
    let service: LoginService
    let hers = MemoryHome()
    let anna: Session
    private let audience: Hash256

    init() async throws {
        service = try LoginService()
        anna = try await world.quick("anna", home: hers)
        audience = try anyDigest()
    }

    func login(_ client: Client, at service: LoginService? = nil) -> Login {
        Login(client, at: service ?? self.service, audience: audience)
    }

    /// The log-in of a home without an identity, or of one whose identity is closed.
    func login(from home: MemoryHome, at service: LoginService? = nil) -> Login {
        login(world.client(home), at: service)
    }

    func name(_ text: String = "anna") throws -> Name { try Name(typed: text) }

    @discardableResult func register(
        _ text: String, replaces: Bool = false, as session: Session? = nil
    ) async throws -> Login.Registered {
        try await login((session ?? anna).client).register(password(text), replaces: replaces)
    }

    func enter(
        _ home: MemoryHome, with text: String, at service: LoginService? = nil
    ) async throws -> Session {
        let login = login(from: home, at: service)
        let opened = try await login.open(name(), password: password(text))
        return try await login.install(opened, password: password(text), cost: .floor)
    }

    func refusal(_ home: MemoryHome, with text: String, at service: LoginService? = nil) async -> TresorError? {
        await failure { _ = try await login(from: home, at: service).open(name(), password: password(text)) }
    }

    @Test func nameAndPasswordBringTheIdentityToAnEmptyHome() async throws {
        #expect(try await register("first").isSet)
        let home = MemoryHome()
        let session = try await enter(home, with: "first")
        #expect(session.identity.chain == anna.identity.chain)
        let file = try session.client.identityFileBlocking()
        #expect(file.slots.map(\.isPassword) == [true])
        #expect(try file.open(withPassword: password("first")).user == anna.identity.user)
        #expect(Set(home.contents.keys) == [.identity, .knownLogins, .knownServices])
        #expect(await refusal(MemoryHome(), with: "second") == .wrongPassword)
        // Nobody has the name: the answer is as for a wrong password.
        let empty = try LoginService()
        #expect(await refusal(MemoryHome(), with: "first", at: empty) == .wrongPassword)
        #expect(empty.take() == [.server, .login])
    }

    @Test func aHomeFollowsTheOtherMachine() async throws {
        try await register("first")
        let home = MemoryHome()
        let desk = try await enter(home, with: "first")
        try await register("second", replaces: true)
        #expect(await refusal(home, with: "first") == .wrongPassword)
        _ = try await enter(home, with: "second")
        #expect(try desk.client.identityFileBlocking().open(withPassword: password("second")).user == anna.user)
        _ = try await desk.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let kit: RecoveryKit? = nil
        let renewed = try await anna.renewal.renew(password: password("third"), cost: .floor, kit: kit)
        _ = try await renewed.renewal.finishInEachTresor()
        try await register("third", as: renewed)
        let session = try await enter(home, with: "third")
        #expect(session.identity.generation == 1 && home.read(.deviceShare) == nil)
        #expect(try session.client.identityFileBlocking().slots.map(\.isPassword) == [true])
    }

    /// Between the answer of the service and the writing, another command has the home.
    @Test func whatAppearedInTheHomeMeanwhileIsNotOverwritten() async throws {
        try await register("first")
        let kit: RecoveryKit? = nil
        let entering = login(from: hers)
        let opened = try await entering.open(name(), password: password("first"))
        _ = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        let renewed = hers.contents
        let older = await failure { _ = try await entering.install(opened, password: password("first"), cost: .floor) }
        #expect(older == .busy && hers.contents == renewed)

        let home = MemoryHome()
        let arriving = login(from: home)
        let arrived = try await arriving.open(name(), password: password("first"))
        _ = try await world.quick("bruno", home: home)
        let before = home.contents
        let other = await failure {
            _ = try await arriving.install(arrived, password: password("first"), cost: .floor)
        }
        #expect(other == .busy && home.contents == before)
    }

    @Test func aHomeOfSomebodyElseStaysTheirs() async throws {
        try await register("first")
        let home = MemoryHome()
        _ = try await world.quick("bruno", home: home)
        let before = home.contents
        #expect(await refusal(home, with: "first") == .usage(.identityExists))
        #expect(home.contents == before)
    }

    @Test(arguments: [(65_535, 3), (4_194_305, 3), (65_536, 2), (65_536, 17)] as [(UInt32, UInt32)])
    func A115_aCostOutOfBoundsIsSentNothing(_ cost: (memoryKiB: UInt32, passes: UInt32)) async throws {
        let greedy = try LoginService(memoryKiB: cost.memoryKiB, passes: cost.passes)
        let home = MemoryHome()
        #expect(await refusal(home, with: "first", at: greedy) == .altered)
        #expect(await failure { _ = try await login(anna.client, at: greedy).register(password("first")) } == .altered)
        #expect(greedy.take() == [.server, .server] && home.contents.isEmpty)
    }

    @Test func A115_anotherServiceThanTheHomeKnowsIsSentNothing() async throws {
        try await register("first")
        let home = MemoryHome()
        _ = try await enter(home, with: "first")
        let (before, other) = (home.contents, try LoginService())
        #expect(await refusal(home, with: "first", at: other) == .altered)
        #expect(other.take() == [.server] && home.contents == before)
    }

    /// A stranger without the service's key tests one guess with each answer, and may be another service each time.
    @Test func A117_afterThreeAnswersThatDoNotOpenNothingIsSent() async throws {
        try await register("first")
        let home = MemoryHome()
        for _ in 0..<3 { try await expectTrial(of: home, .wrongPassword, sent: [.server, .login]) }
        try await expectTrial(of: home, .busy, sent: [.server])
        #expect(await refusal(home, with: "first") == .busy)
        world.clock.advance(by: KnownLogins.pause + 1)
        try await expectTrial(of: home, .wrongPassword, sent: [.server, .login])
        try await expectTrial(of: home, .busy, sent: [.server])
        world.clock.advance(by: KnownLogins.pause + 1)
        // Another address has a count of its own.
        let elsewhere = Login(world.client(home), at: try LoginService(), audience: try anyDigest())
        let other = await failure { _ = try await elsewhere.open(name(), password: password("first")) }
        #expect(other == .wrongPassword)
        _ = try await enter(home, with: "first")
        #expect(try KnownLogins.login(at: audience, in: home).failures == 0)
    }

    /// Logs in at an impostor with a key of their own.
    private func expectTrial(
        of home: MemoryHome, _ error: TresorError, sent: [ServiceOperation]
    ) async throws {
        let impostor = try LoginService()
        impostor.kept = service.kept
        #expect(await refusal(home, with: "first", at: impostor) == error)
        #expect(impostor.take() == sent)
    }

    /// Several processes try at the same time, and are killed before they judge an answer.
    @Test func A117_aTryCountsBeforeItIsSent() throws {
        let (home, now) = (MemoryHome(), world.clock.now)
        let first = try KnownLogins.beginTry(at: audience, now, in: home)
        for _ in 0..<2 { _ = try KnownLogins.beginTry(at: audience, now, in: home) }
        #expect(throws: TresorError.busy) { try KnownLogins.beginTry(at: audience, now, in: home) }
        try KnownLogins.takeBack(first, at: audience, in: home)
        _ = try KnownLogins.beginTry(at: audience, now, in: home)
        #expect(throws: TresorError.busy) { try KnownLogins.beginTry(at: audience, now, in: home) }
        // Answers that tested nothing begin no other pause.
        let later = now + KnownLogins.pause + 1
        let late = try KnownLogins.beginTry(at: audience, later, in: home)
        #expect(throws: TresorError.busy) { try KnownLogins.beginTry(at: audience, later, in: home) }
        try KnownLogins.takeBack(late, at: audience, in: home)
        #expect(try KnownLogins.login(at: audience, in: home) == late)
    }

    @Test func A122_anOlderLogInIsAFork() async throws {
        try await register("first")
        let older = service.kept
        try await register("second", replaces: true)
        let home = MemoryHome()
        _ = try await enter(home, with: "second")
        let before = home.contents
        service.kept = older
        #expect(await refusal(home, with: "first") == .forked)
        #expect(await failure { _ = try await login(anna.client).account() } == .forked)
        #expect(await failure { try await register("third", replaces: true) } == .forked)
        #expect(service.kept?.statement == older?.statement)
        // Another statement of one revision, from a home that saw neither.
        hers.delete(.knownLogins)
        world.clock.advance(by: 1)
        try await register("third", replaces: true)
        #expect(service.kept?.statement.revision == 2)
        #expect(await refusal(home, with: "third") == .forked)
        #expect(home.contents == before)
        // An empty machine knows no better.
        _ = try await enter(MemoryHome(), with: "third")
    }

    /// Whoever answers at another address names the id of the service there.
    @Test func A122_anAddressThatNamesAServiceGetsNoLogInForgotten() throws {
        let (home, server, claimed) = (MemoryHome(), try anyDigest(), try anyDigest())
        try KnownServices.meet(server, at: audience, in: home)
        #expect(try KnownServices.believed(at: claimed, noted: claimed, in: home) == nil)
        #expect(try KnownServices.believed(at: audience, noted: nil, in: home) == server)
        try KnownServices.meet(server, at: claimed, in: home)
        #expect(try KnownServices.believed(at: claimed, noted: nil, in: home) == nil)
        // The person has said that the address comes from the operator.
        #expect(try KnownServices.believed(at: claimed, noted: claimed, in: home) == server)
    }

    /// A home whose known services were damaged, and forgotten, does not know who is at the address that it notes.
    @Test func A122_anAddressBesideANotedOneThatIsNotMetGetsNoLogInForgotten() throws {
        let (home, server, claimed) = (MemoryHome(), try anyDigest(), try anyDigest())
        try KnownServices.meet(server, at: claimed, in: home)
        #expect(try KnownServices.believed(at: claimed, noted: audience, in: home) == nil)
        #expect(try KnownServices.believed(at: claimed, noted: nil, in: home) == server)
        try KnownServices.meet(anyDigest(), at: audience, in: home)
        #expect(try KnownServices.believed(at: claimed, noted: audience, in: home) == server)
    }

    @Test func A122_olderKeysThanTheHomeHasAreAFork() async throws {
        try await register("first")
        let kit: RecoveryKit? = nil
        _ = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        let home = hers
        home.delete(.knownLogins)
        let before = home.contents
        #expect(await refusal(home, with: "first") == .forked)
        #expect(home.contents == before)
    }

    /// The service has the record, its session key and the client's proof.
    @Test func A123_nothingOfTheServiceOpensTheCopy() async throws {
        try await register("first")
        let kept = try #require(service.kept)
        let copy = try IdentityFile(kept.copy)
        let parameters = try LoginParameters(server: service.shown, handle: name())
        let begun = try OPAQUELogin(input: parameters.input(password("first")))
        let answer = try await service.call(LoginRequest(handle: name(), message: begun.message))
        let outcome = try begun.finish(
            answer: answer.message, names: parameters.names(), parameters: parameters.parameters())
        #expect(outcome.record == kept.record)
        let opened = try copy.open(withExportKey: outcome.exportKey)
        #expect(opened.user == anna.user)
        let sessionKey = try SecretBytes(copying: outcome.sessionKey.span)
        let session = (0..<sessionKey.count).map { sessionKey.span[$0] }
        for start in stride(from: 0, through: kept.record.count - 32, by: 32) {
            let piece = Array(kept.record[start..<start + 32])
            #expect(throws: TresorError.altered) { try Self.open(copy, with: piece + piece) }
        }
        for secret in [session, Array(session.reversed()), outcome.message, [UInt8](repeating: 0, count: 64)] {
            #expect(throws: TresorError.altered) { try Self.open(copy, with: secret) }
        }
    }

    private static func open(_ copy: IdentityFile, with bytes: [UInt8]) throws {
        let key = try SecretBytes(copying: bytes.span)
        _ = try copy.open(withExportKey: key)
    }

    /// A statement that fits the copy, by anybody.
    private func statement(
        by identity: Identity, server: Hash256? = nil, revision: UInt64 = 2, _ kept: LoginService.KeptLogin
    ) throws -> LoginStatement {
        try LoginStatement(
            by: identity, server: server ?? service.shown.id(), revision: revision,
            record: LoginStatement.hash(ofRecord: kept.record), copy: LoginStatement.hash(ofCopy: kept.copy),
            time: world.clock.now)
    }

    /// A later login copy takes the place of what a home was about to tell its store.
    @Test func newerKeysEndAnInterruptedRenewalHere() async throws {
        let once = try await anna.renewal.renew(password: password("once"), cost: .floor, kit: nil)
        let older = hers.contents
        _ = try await once.renewal.finishInEachTresor()
        let twice = try await once.renewal.renew(password: password("twice"), cost: .floor, kit: nil)
        _ = try await twice.renewal.finishInEachTresor()
        try await register("twice", as: twice)
        let home = MemoryHome()
        for (object, bytes) in older { try home.replace(object, with: bytes) }
        let journal = try #require(home.read(.cleanupJournal))
        #expect(try CleanupJournal(journal).generations == [1])
        let session = try await enter(home, with: "twice")
        #expect(session.identity.generation == 2)
        let left = try session.client.cleanup.journal()
        #expect(left.generations.isEmpty)
    }

    /// Leaves a log-in under the name of anna that opens: with any copy and statement.
    private func leave(_ file: IdentityFile, of owner: Identity, signedBy author: Identity) async throws {
        let parameters = try LoginParameters(server: service.shown, handle: name())
        let registration = try OPAQUERegistration(input: parameters.input(password("first")))
        let answer = try await service.call(
            RegisterRequest(chain: anna.identity.chain.bytes, invitation: [], blinded: registration.message))
        let outcome = try registration.finish(
            evaluated: answer.evaluated, serverKey: service.shown.key.bytes, names: parameters.names(),
            parameters: parameters.parameters())
        let (server, record) = (try service.shown.id(), outcome.record)
        let copy = try file.loginCopy(
            of: owner, exportKey: outcome.exportKey, server: server, revision: 1, time: world.clock.now
        ).bytes
        let statement = try LoginStatement(
            by: author, server: server, revision: 1, record: LoginStatement.hash(ofRecord: record),
            copy: LoginStatement.hash(ofCopy: copy), time: world.clock.now)
        service.kept = LoginService.KeptLogin(record: record, statement: statement, copy: copy)
    }

    /// The service has the copies of a person who made another account, and the former keys of one who renewed.
    @Test func aCopyThatOpensIsOfTheNameAndOfTheNewestKeys() async throws {
        let bruno = try await world.quick("bruno")
        let his = try bruno.client.identityFileBlocking()
        try await leave(his, of: bruno.identity, signedBy: bruno.identity)
        let home = MemoryHome()
        #expect(await refusal(home, with: "first") == .altered)
        let mine = try anna.client.identityFileBlocking()
        try await leave(mine, of: anna.identity, signedBy: anna.identity)
        _ = try await enter(MemoryHome(), with: "first")
        let kit: RecoveryKit? = nil
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        let newer = try renewed.client.identityFileBlocking()
        // The statement is of former keys, or of later ones than the copy has.
        try await leave(newer, of: renewed.identity, signedBy: anna.identity)
        #expect(await refusal(home, with: "first") == .altered)
        try await leave(mine, of: anna.identity, signedBy: renewed.identity)
        #expect(await refusal(home, with: "first") == .altered)
        #expect(home.contents.isEmpty)
        try await leave(newer, of: renewed.identity, signedBy: renewed.identity)
        _ = try await enter(home, with: "first")
    }

    @Test func whatDoesNotHangTogetherIsRefused() async throws {
        try await register("first")
        let former = try #require(service.kept)
        try await register("second", replaces: true)
        let kept = try #require(service.kept)
        let eve = try identity("anna")
        let next = try anna.identity.renewCard(time: world.clock.now).identity
        let lies: [(String, FinishLoginAnswer)] = [
            ("the former copy", FinishLoginAnswer(statement: kept.statement, copy: former.copy)),
            ("the former statement", FinishLoginAnswer(statement: former.statement, copy: kept.copy)),
            ("the former log-in", FinishLoginAnswer(statement: former.statement, copy: former.copy)),
            ("no copy", FinishLoginAnswer(statement: kept.statement, copy: [])),
            ("somebody else's statement", FinishLoginAnswer(statement: try statement(by: eve, kept), copy: kept.copy)),
            ("newer keys", FinishLoginAnswer(statement: try statement(by: next, kept), copy: kept.copy)),
            (
                "another service",
                FinishLoginAnswer(
                    statement: try statement(by: anna.identity, server: anyDigest(), kept), copy: kept.copy)
            ),
            (
                "another revision",
                FinishLoginAnswer(statement: try statement(by: anna.identity, revision: 3, kept), copy: kept.copy)
            ),
        ]
        let home = MemoryHome()
        for (text, lie) in lies {
            service.show { _ in lie }
            #expect(await refusal(home, with: "second") == .altered, "\(text)")
            #expect(home.contents.isEmpty, "\(text)")
        }
        service.show { $0 }
        _ = try await enter(home, with: "second")
    }
}
