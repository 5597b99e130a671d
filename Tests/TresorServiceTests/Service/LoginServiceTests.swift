// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// A password at a service: set, used, changed and dropped.
    @Suite(.overEveryEngine) struct LoginServiceTests {
        @Test func aPasswordLogsIn() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let account = try await anna.ask(AccountRequest())
            #expect(account.state == .active && account.statement == finish.statement && account.hasRecord)
            let begun = try await scene.begin("anna")
            let answer = try await scene.end(begun)
            #expect(answer.statement == finish.statement && answer.copy == finish.copy)
            #expect(try await scene.begin("anna", "correct house battery").last == nil)
            #expect(try await scene.begin("nobody").last == nil)
            #expect(try await scene.bench.service.check().isClean)
        }

        @Test func aPasswordIsChanged() async throws {
            let scene = try await LoginScene()
            let (anna, first) = try await scene.person("anna")
            let begun = try await scene.begin("anna")
            let second = try await scene.setting("another horse battery", of: anna, revision: 2)
            #expect(try await anna.ask(second).state == .active)
            // The same again, in another request, changes nothing.
            #expect(try await anna.ask(second).state == .active)
            let account = try await anna.ask(AccountRequest())
            #expect(account.statement == second.statement && account.hasRecord)
            // A log-in that began with the former record ends with nothing.
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            #expect(try await scene.begin("anna").last == nil)
            let answer = try await scene.end(scene.begin("anna", "another horse battery"))
            #expect(answer.statement == second.statement && answer.copy == second.copy)
            #expect(first.statement != second.statement)
            // No password any more.
            let none = FinishRequest(
                record: [],
                statement: try LoginStatement(
                    by: anna.identity, server: scene.service.id, revision: 3, record: .zero, copy: .zero,
                    time: scene.bench.clock.now),
                copy: [])
            _ = try await anna.ask(none)
            #expect(try await !anna.ask(AccountRequest()).hasRecord)
            #expect(try await scene.begin("anna", "another horse battery").last == nil)
            #expect(try await scene.rows(SQL("SELECT account FROM accounts WHERE record IS NOT NULL")).isEmpty)
        }

        /// Who begins to set a password ends it: twenty times at once, and then once in five minutes.
        @Test func twentyPasswordsAreSetAtOnce() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            for revision: UInt64 in 2...20 {
                _ = try await anna.ask(scene.setting(LoginScene.password, of: anna, revision: revision))
            }
            let message = try OPAQUERegistration(input: SecretBytes(randomCount: 8)).message
            let refused = try await anna.reply(
                RegisterRequest(chain: anna.identity.chain.bytes, invitation: [], blinded: message))
            #expect(refused.status == 429 && refused.retryAfter == 301)
            scene.bench.clock.now += 300
            // Each process has a limit of its own for registrations.
            let service = try await scene.bench.anotherService()
            defer { service.shutDown() }
            let later = anna.at(service)
            _ = try await later.ask(scene.setting(LoginScene.password, of: later, revision: 21))
        }

        /// The account of the operator was made with the service, and that of an import by it.
        @Test func anAccountWithoutAStatementTakesTheFirst() async throws {
            let scene = try await LoginScene(.closed)
            let admin = try scene.bench.admin
            let jump = try await scene.setting(LoginScene.password, of: admin, revision: 2)
            #expect(try await admin.reply(jump) == .refused(.failed(.other)))
            let finish = try await scene.setting(LoginScene.password, of: admin, revision: 1)
            #expect(try await admin.ask(finish).state == .active)
            #expect(try await scene.end(scene.begin("operator")).statement == finish.statement)
        }

        @Test func whoWaitsForTheOperatorLogsInOnceAdmitted() async throws {
            let scene = try await LoginScene(.closed)
            let anna = try scene.bench.stranger("anna")
            let finish = try await scene.setting(LoginScene.password, of: anna, revision: 1)
            #expect(try await anna.ask(finish).state == .complete)
            #expect(try await anna.ask(AccountRequest()).hasRecord)
            #expect(try await scene.begin("anna").last == nil)
            // They may set it again meanwhile.
            let second = try await scene.setting("another horse battery", of: anna, revision: 2)
            #expect(try await anna.ask(second).state == .complete)
            _ = try await scene.bench.admin.ask(
                AdmitRequest(user: anna.user, card: anna.identity.chain.newest.hash, isAdmitted: true))
            #expect(try await scene.end(scene.begin("anna", "another horse battery")).statement == second.statement)
        }

        @Test func aProcessWithoutTheServerKeyRefusesPasswords() async throws {
            var scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let begun = try await scene.begin("anna")
            scene.service = try await scene.bench.anotherService { $0.logins = nil }
            let bert = try scene.bench.stranger("bert").at(scene.service)
            let blinded = RegisterRequest(
                chain: bert.identity.chain.bytes, invitation: [], blinded: [UInt8](repeating: 1, count: 32))
            #expect(try await bert.reply(blinded) == .refused(.unsupported))
            let next = try scene.finishing(finish.record, of: anna, revision: 2)
            #expect(try await anna.at(scene.service).reply(next) == .refused(.unsupported))
            #expect(try await scene.reply(to: scene.first("anna")) == .refused(.unsupported))
            #expect(await scene.reply(to: begun.finish) == .refused(.unsupported))
        }

        @Test func theSecretOfAnotherServiceIsRefused() async throws {
            let scene = try await LoginScene()
            await #expect(throws: TresorError.altered) {
                _ = try await scene.bench.anotherService {
                    $0.server = Server(key: .zero, memoryKiB: 65_536, passes: 3)
                }
            }
        }

        @Test func whatIsNotAnElementIsRefused() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            for element in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32)] {
                let register = RegisterRequest(chain: anna.identity.chain.bytes, invitation: [], blinded: element)
                #expect(try await anna.reply(register) == .refused(.altered))
                for handle in ["anna", "nobody"] {
                    let message = try element + scene.first(handle).message.dropFirst(32)
                    let login = try LoginRequest(handle: Name(typed: handle), message: message)
                    #expect(await scene.reply(to: login) == .refused(.altered))
                }
                // Every log-in under this handle would fail.
                let next = try scene.finishing(element + finish.record.dropFirst(32), of: anna, revision: 2)
                #expect(try await anna.reply(next) == .refused(.altered))
            }
        }

        @Test func aRecordThatIsNotTheStatementsIsRefused() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            let next = try await scene.setting("another horse battery", of: anna, revision: 2)
            var record = next.record
            record[191] ^= 1
            let before = try await scene.bench.rows().dropLast()
            for wrong in [
                FinishRequest(record: record, statement: next.statement, copy: next.copy),
                FinishRequest(record: next.record, statement: next.statement, copy: next.copy + [1]),
            ] {
                #expect(try await anna.reply(wrong) == .refused(.altered))
            }
            #expect(try await scene.bench.rows().dropLast() == before)
            #expect(try await anna.ask(next).state == .active)
        }

        @Test func newKeysDropTheRecord() async throws {
            let scene = try await LoginScene()
            let (former, first) = try await scene.person("anna")
            let begun = try await scene.begin("anna")
            let anna = try scene.bench.signer(
                try former.identity.renewCard(time: scene.bench.clock.now).identity)
            let put = PutCardRequest(chain: anna.identity.chain.bytes, replacing: former.identity.chain.bytes)
            #expect(try await anna.ask(put).outcome == .done)
            let account = try await anna.ask(AccountRequest())
            #expect(account.statement == first.statement && !account.hasRecord)
            #expect(try await scene.rows(SQL("SELECT account FROM accounts WHERE copy IS NOT NULL")).isEmpty)
            // Neither a log-in that had begun nor another one.
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            #expect(try await scene.begin("anna").last == nil)
            // Former keys set nothing, and the statement again brings nothing back.
            let old = try scene.finishing(first.record, of: former, revision: 2)
            #expect(try await anna.reply(old) == .refused(.failed(.other)))
            _ = try await anna.ask(first)
            #expect(try await !anna.ask(AccountRequest()).hasRecord)
            let second = try await scene.setting(LoginScene.password, of: anna, revision: 2)
            _ = try await anna.ask(second)
            #expect(try await scene.end(scene.begin("anna")).statement == second.statement)
        }

        @Test func theOwnerSeesTheLogInsThatFailed() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            func failures() async throws -> [UInt64] {
                let account = try await anna.ask(AccountRequest())
                return [account.failures, account.failed]
            }
            #expect(try await failures() == [0, 0])
            _ = try await scene.end(scene.begin("anna"))
            #expect(try await failures() == [0, 0])
            let start = scene.bench.clock.now
            // One that ends wrongly, and one that nobody ends.
            #expect(try await scene.reply(to: scene.begin("anna", "a wrong password").finish) == .forbidden)
            #expect(try await failures() == [1, start])
            scene.bench.clock.now += 10
            _ = try await scene.begin("anna", "a wrong password")
            #expect(try await failures() == [1, start])
            scene.bench.clock.now += 61
            #expect(try await failures() == [2, start + 10])
            try await scene.service.sweep()
            #expect(try await failures() == [2, start + 10])
            #expect(try await scene.rows(SQL("SELECT attempt FROM login_attempts")).isEmpty)
            // Those under other handles are not theirs.
            _ = try await scene.reply(to: scene.begin("nobody").finish)
            #expect(try await failures() == [2, start + 10])
            _ = try await anna.ask(try await scene.setting(LoginScene.password, of: anna, revision: 2))
            #expect(try await failures() == [0, 0])
        }

        @Test func aClosedAccountKeepsNothingOfTheLogIn() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            let (bert, _) = try await scene.person("bert")
            for handle in ["anna", "bert"] {
                _ = try await scene.reply(to: scene.begin(handle, "a wrong password").finish)
                _ = try await scene.begin(handle)
            }
            let begun = [try await scene.begin("anna"), try await scene.begin("bert")]
            _ = try await anna.ask(DeleteAccountRequest())
            try await scene.service.directory.close(bert.user)
            for attempt in begun { #expect(await scene.reply(to: attempt.finish) == .forbidden) }
            #expect(
                try await scene.rows(
                    SQL("SELECT account FROM accounts WHERE record IS NOT NULL OR copy IS NOT NULL")
                ).isEmpty)
            #expect(try await scene.rows(SQL("SELECT attempt FROM login_attempts")).isEmpty)
            #expect(try await scene.rows(SQL("SELECT account FROM login_failures")).isEmpty)
            #expect(try await scene.begin("anna").last == nil)
        }

        /// A backup has the passwords of before.
        @Test func A237_aBackupBringsNoPasswordBackThatOpensFormerKeys() async throws {
            let scene = try await LoginScene()
            let (former, _) = try await scene.person("anna")
            let (bert, _) = try await scene.person("bert")
            let backup = try await Backup(of: scene.bench)
            let anna = try scene.bench.signer(try former.identity.renewCard(time: scene.bench.clock.now).identity)
            try await backup.restore(to: scene.bench)
            #expect(try await scene.end(scene.begin("anna")).copy == Array("copy 1".utf8))
            try await scene.service.apply([Revocation(renewalTo: anna.identity.chain)])
            #expect(try await scene.begin("anna").last == nil)
            #expect(try await bert.ask(AccountRequest()).hasRecord)
            // Without the file nobody knows whose password was changed.
            try await scene.service.distrust(operator: nil)
            #expect(try await scene.begin("bert").last == nil)
            #expect(try await scene.rows(SQL("SELECT account FROM accounts WHERE record IS NOT NULL")).isEmpty)
        }

        @Test func aCheckFindsARecordThatNobodySigned() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let (bert, other) = try await scene.person("bert")
            #expect(try await scene.service.check().isClean)
            _ = try await scene.bench.engine.write([
                SQL(
                    "UPDATE accounts SET record = $2 WHERE account = $1",
                    [.digest(anna.user.digest), .bytes(other.record)])
            ])
            let report = try await scene.service.check()
            #expect(report.logins == [anna.user] && !report.isClean)
            _ = try await scene.bench.engine.write([
                SQL(
                    "UPDATE accounts SET record = $2 WHERE account = $1",
                    [.digest(anna.user.digest), .bytes(finish.record)]),
                SQL("UPDATE accounts SET copy = NULL WHERE account = $1", [.digest(bert.user.digest)]),
            ])
            #expect(try await scene.service.check().logins == [bert.user])
        }

        @Test func aCheckFindsAStatementThatTheNewestKeysDidNotSign() async throws {
            let scene = try await LoginScene()
            let (anna, finish) = try await scene.person("anna")
            let account = SQLValue.digest(anna.user.digest)
            var forged = finish.statement.bytes
            forged[221] ^= 1
            let renewed = try anna.identity.renewCard(time: scene.bench.clock.now).identity
            for change in [
                SQL("UPDATE accounts SET statement = $2 WHERE account = $1", [account, .bytes(forged)]),
                SQL(
                    "UPDATE accounts SET statement = $2, chain = $3 WHERE account = $1",
                    [account, .bytes(finish.statement.bytes), .bytes(renewed.chain.bytes)]),
            ] {
                _ = try await scene.bench.engine.write([change])
                #expect(try await scene.service.check().logins == [anna.user])
            }
            _ = try await scene.bench.engine.write([
                SQL(
                    "UPDATE accounts SET chain = $2 WHERE account = $1",
                    [account, .bytes(anna.identity.chain.bytes)])
            ])
            #expect(try await scene.service.check().isClean)
        }
    }
#endif
