// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorSQLite
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// The commands by which an operator lists and closes accounts, and lists and withdraws invitations, beside a service
    /// that runs.
    @Suite struct AccountCommandTests {
        /// A service in which everybody may register, and its operator.
        private struct Stage {
            let site: Site
            let server: ServerProcess
            let admin: Identity
            let store: HTTPStore
            let port: Int

            init() async throws {
                site = try Site()
                admin = try Identity.make(handle: Name(typed: "operator"), time: 1_800_000_000)
                try Data(admin.chain.bytes).write(to: URL(fileURLWithPath: site["operator.card"]))
                let made = await ServerProcess.run([
                    "init", site["clinic.db"], "--operator", site["operator.card"], "--registration", "open",
                ])
                #expect(made.code == 0, "\(made.error)")
                // A backup of before the first run.
                try FileManager.default.copyItem(atPath: site["clinic.db"], toPath: site["new.db"])
                server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
                port = try #require(await server.port(), "\(server.said)")
                store = try HTTPStore("http://127.0.0.1:\(port)")
            }

            func run(_ command: String, _ arguments: String...) async -> ServerProcess.Ending {
                await ServerProcess.run([command, site["clinic.db"]] + arguments)
            }

            func stop() async {
                server.signal(SIGTERM)
                let ending = await server.end()
                #expect(ending.code == 0, "\(ending.error)")
            }
        }

        @Test func anOperatorClosesAnAccountBesideTheService() async throws {
            let stage = try await Stage()
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            try await Newcomer.register(anna, with: stage.store.service)
            let list = await stage.run("accounts")
            #expect(list.code == 0, "\(list.error)")
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.contains { $0.hasPrefix("\(anna.user)  active  ") && $0.hasSuffix("  0  0  0  anna") })
            // Without a yes nothing happens.
            let unsure = await stage.run("close", "anna")
            #expect(unsure.code == 64 && unsure.error.contains("run it again with --yes"), "\(unsure.error)")
            #expect(unsure.output.contains(try anna.chain.number().grouped))
            let closed = await stage.run("close", "anna", "--yes")
            #expect(closed.code == 0 && closed.output.contains("closed the account of anna"), "\(closed.error)")
            // The line of the log names nobody.
            #expect(closed.error.contains("\"event\":\"account-closed\"") && !closed.error.contains("anna"))
            let service = stage.store.service
            await #expect(throws: TresorError.noAccess) {
                _ = try await service.speaking(as: .person(anna)).call(AccountRequest())
            }
            let again = await stage.run("close", "\(anna.user)", "--yes")
            #expect(again.code == 0 && again.output.contains("closed already"))
            let later = await stage.run("accounts")
            #expect(later.output.contains("\(anna.user)  closed  "))
            // The start of the service stands there too.
            let size = RevokedLog.beginningByteCount + 2 * RevokedLog.recordByteCount
            #expect(try Data(contentsOf: URL(fileURLWithPath: stage.site["server.key.revoked"])).count == size)
            await stage.stop()
        }

        /// What would stand behind a record that was changed is not believed to be written.
        @Test func A237_damagedRevocationsAreToldToCloseAndByHealth() async throws {
            let stage = try await Stage()
            for handle in ["anna", "bert"] {
                let person = try Identity.make(handle: Name(typed: handle), time: SystemClock.read())
                try await Newcomer.register(person, with: stage.store.service)
            }
            #expect(await stage.run("close", "anna", "--yes").code == 0)
            let log = try FileHandle(forUpdating: URL(fileURLWithPath: stage.site["server.key.revoked"]))
            let end = try log.seekToEnd()
            try log.seek(toOffset: end - 1)
            let last = try #require(try log.readToEnd()?.first)
            try log.seek(toOffset: end - 1)
            try log.write(contentsOf: [last ^ 1])
            let closed = await stage.run("close", "bert", "--yes")
            #expect(closed.code != 0 && !closed.output.contains("closed the account"), "\(closed.output)")
            let words = "closed nothing: the file of revocations is damaged: stop the service, put the newest"
            #expect(closed.error.contains(words), "\(closed.error)")
            let client = try RawClient(port: stage.port)
            await client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(await client.readAnswer()?.status == 503)
            #expect(await stage.server.says("\"level\":\"error\",\"event\":\"revocations-damaged\""))
            await stage.stop()
        }

        /// A service knows each account, and a home only some people.
        @Test func handlesThatLookAlikeAreShown() async throws {
            let stage = try await Stage()
            for handle in ["anna", "\u{430}nna"] {
                let person = try Identity.make(handle: Name(typed: handle), time: SystemClock.read())
                try await Newcomer.register(person, with: stage.store.service)
            }
            let list = await stage.run("accounts")
            #expect(list.code == 0 && list.output.split(separator: "\n").count == 3, "\(list.output)")
            let alike = "these handles look alike: anna, \u{430}nna (U+430)\n"
            #expect(list.error == "tresor-server: \(alike)", "\(list.error)")
            await stage.stop()
        }

        /// Somebody may register very many of them.
        @Test func handlesThatLookAlikeFillNoScreen() throws {
            func names(_ count: Int, of letter: String) throws -> [Name] {
                try (1...count).reversed().map { try Name(typed: String(repeating: letter, count: $0)) }
            }
            let lines = AccountsCommand.lines(of: [
                try names(2, of: "c"), try names(1, of: "b"), try names(11, of: "a"), try names(8, of: "\u{430}"),
            ])
            #expect(lines.count == 3)
            let start = "these handles look alike: "
            #expect(lines[0] == start + "a, aa, aaa, aaaa, aaaaa, aaaaaa, aaaaaaa, aaaaaaaa, and 3 more")
            #expect(lines[1] == start + "c, cc")
            #expect(lines[2].hasPrefix(start + "\u{430} (U+430), ") && !lines[2].hasSuffix("more"))
        }

        @Test(arguments: [("operator ", "operator"), ("P1", "p1"), ("Anna  B", "anna b"), ("Ivan", "lvan")])
        func handlesThatPeopleReadAlikeAreAlike(one: String, other: String) throws {
            let looks = try [one, other].map { AccountsCommand.looks(of: try Name(typed: $0)) }
            #expect(!looks[0].isDisjoint(with: looks[1]))
            #expect(try looks[0].isDisjoint(with: AccountsCommand.looks(of: Name(typed: "somebody"))))
        }

        @Test func whoIsNotClosedIsNamed() async throws {
            let stage = try await Stage()
            let nobody = await stage.run("close", "nobody", "--yes")
            #expect(nobody.code == 10 && nobody.error.contains("tresor-server accounts lists all"), "\(nobody.error)")
            let admin = await stage.run("close", "operator", "--yes")
            #expect(admin.code == 13 && admin.error.contains("is the operator"), "\(admin.error)")
            let missing = await ServerProcess.run(["accounts", stage.site["none.db"]])
            #expect(missing.code == 10)
            await stage.stop()
        }

        /// A handle may look like the id of somebody else. Nobody is closed by mistake.
        @Test func aHandleThatIsAnotherPersonsIDClosesNobody() async throws {
            let stage = try await Stage()
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            try await Newcomer.register(anna, with: stage.store.service)
            let id = "\(anna.user)"
            let eve = try Identity.make(handle: Name(typed: id), time: SystemClock.read())
            try await Newcomer.register(eve, with: stage.store.service)
            let both = await stage.run("close", id, "--yes")
            #expect(both.code == 64 && both.error.contains("by the handle, anna"), "\(both.error)")
            #expect(both.error.contains("by the id, \(eve.user)"))
            let list = await stage.run("accounts")
            #expect(!list.output.contains("  closed  "))
            let closed = await stage.run("close", "\(eve.user)", "--yes")
            #expect(closed.code == 0, "\(closed.error)")
            let later = await stage.run("accounts")
            #expect(later.output.contains("\(eve.user)  closed  ") && later.output.contains("\(id)  active  "))
            // The other way out closes the other one.
            #expect(await stage.run("close", "anna", "--yes").code == 0)
            #expect(await stage.run("accounts").output.contains("\(id)  closed  "))
            await stage.stop()
        }

        /// Whom the service demands for each share may have left.
        @Test func anApproverWithAClosedAccountIsToldAtTheStart() async throws {
            let stage = try await Stage()
            let clinic = try Identity.make(handle: Name(typed: "clinic"), time: SystemClock.read())
            try await Newcomer.register(clinic, with: stage.store.service)
            let card = stage.site["clinic.card"]
            try Data(clinic.chain.bytes).write(to: URL(fileURLWithPath: card))
            let words = "tresor-server: the account of clinic (--approver \(card)) is closed"
            for isClosed in [false, true] {
                if isClosed { #expect(await stage.run("close", "clinic", "--yes").code == 0) }
                if !isClosed { await stage.stop() }
                let next = try ServerProcess([
                    "run", stage.site["clinic.db"], "--listen", "127.0.0.1:0", "--approver", card,
                ])
                _ = try #require(await next.port(), "\(next.said)")
                next.signal(SIGTERM)
                #expect(await next.end().error.contains(words) == isClosed)
            }
        }

        /// A handle may say a safety number of its own.
        @Test func A49_aHandleIsNotTakenForASafetyNumber() async throws {
            let stage = try await Stage()
            let claim = "anna, safety number 00000 11111 22222 33333 44444 55555"
            let eve = try Identity.make(handle: Name(typed: claim), time: SystemClock.read())
            try await Newcomer.register(eve, with: stage.store.service)
            let number = try eve.chain.number().grouped
            let unsure = await stage.run("close", "\(eve.user)")
            #expect(
                unsure.output.hasPrefix("closes the account of \"\(claim)\", safety number \(number)\n"),
                "\(unsure.output)")
            #expect(await stage.run("accounts").output.contains("  0  0  \"\(claim)\"\n"))
            let closed = await stage.run("close", "\(eve.user)", "--yes")
            #expect(closed.output.contains("closed the account of \"\(claim)\"\n"), "\(closed.output)")
            let again = await stage.run("close", "\(eve.user)", "--yes")
            #expect(again.output.contains("the account of \"\(claim)\" is closed already\n"), "\(again.output)")
            let asked = try Identity.make(
                handle: Name(typed: "5 \"6\" \\"), time: SystemClock.read())
            let service = stage.store.service
            _ = try await service.speaking(as: .person(asked)).call(
                RegisterRequest(chain: asked.chain.bytes, invitation: [], blinded: []))
            let waiting = await stage.run("close", "\(asked.user)", "--yes")
            #expect(waiting.error.contains(#""5 \"6\" \\" has no account yet"#), "\(waiting.error)")
            await stage.stop()
        }

        /// These are letters, and are drawn as blanks.
        @Test(arguments: ["3164", "ffa0", "115f"])
        func A49_aLetterThatIsDrawnBlankIsEscaped(code: String) throws {
            let blank = try #require(UInt32(code, radix: 16).flatMap { Unicode.Scalar($0) })
            let handle = try Name(typed: "anna\(blank)safety\(blank)number\(blank)00000")
            let shown = ShownText.name(handle)
            #expect(shown == #""anna\u{CODE}safety\u{CODE}number\u{CODE}00000""#.replacing("CODE", with: code))
            #expect(ShownText.name(try Name(typed: "josé")) == "josé")
        }

        @Test func whoHasNoAccountYetIsRefusedAndNotClosed() async throws {
            let stage = try await Stage()
            let service = stage.store.service
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            _ = try await service.speaking(as: .person(anna)).call(
                RegisterRequest(chain: anna.chain.bytes, invitation: [], blinded: []))
            let waiting = await stage.run("close", "anna", "--yes")
            let hint = "anna has no account yet; the operator refuses them with tresor approve \(anna.user) --refuse"
            #expect(waiting.code == 1 && waiting.error.contains(hint), "\(waiting.error)")
            #expect(await stage.run("accounts").output.contains("\(anna.user)  asked  "))
            await stage.stop()
        }

        /// Another machine closed the account, and has another file.
        @Test func A237_whatIsClosedAlreadyIsWrittenDown() async throws {
            let stage = try await Stage()
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            try await Newcomer.register(anna, with: stage.store.service)
            await stage.stop()
            let url = URL(fileURLWithPath: stage.site["server.key.revoked"])
            let before = try Data(contentsOf: url)
            #expect(await stage.run("close", "anna", "--yes").code == 0)
            let after = try Data(contentsOf: url)
            #expect(after.count == before.count + RevokedLog.recordByteCount)
            try before.write(to: url)
            for _ in 0..<2 {
                let again = await stage.run("close", "anna", "--yes")
                #expect(again.code == 0 && again.output.contains("closed already"), "\(again.error)")
                #expect(try Data(contentsOf: url) == after)
            }
        }

        /// The database comes from a backup of before the account was made, or even of before the first run.
        @Test(arguments: [false, true])
        func A237_anImportBringsNoClosedAccountBack(isOfBeforeTheFirstRun: Bool) async throws {
            let stage = try await Stage()
            await stage.stop()
            let (database, backup) = (stage.site["clinic.db"], stage.site["backup.db"])
            if isOfBeforeTheFirstRun {
                try FileManager.default.moveItem(atPath: stage.site["new.db"], toPath: backup)
            } else {
                try FileManager.default.copyItem(atPath: database, toPath: backup)
            }
            let store = try await SQLiteStore.open(at: stage.site["store.db"], creating: true)
            let cast = PreviewCast(store: store, clock: FixedClock())
            let anna = try await cast.person("anna b")
            _ = try await cast.tresor("plans", of: anna)
            let next = try ServerProcess(["run", database, "--listen", "127.0.0.1:0"])
            let port = try #require(await next.port(), "\(next.said)")
            try await Newcomer.register(anna.identity, with: try HTTPStore("http://127.0.0.1:\(port)").service)
            #expect(await stage.run("close", "anna b", "--yes").code == 0)
            next.signal(SIGTERM)
            #expect(await next.end().code == 0)
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
            try FileManager.default.copyItem(atPath: backup, toPath: database)
            let other = stage.site["other.revoked"]
            let elsewhere = await stage.run("import", stage.site["store.db"], "--revoked-log", other)
            if isOfBeforeTheFirstRun {
                let words = "read no file of revocations: there is none at \(other); if the service ever ran, name"
                #expect(elsewhere.code == 64 && elsewhere.output.contains(words), "\(elsewhere.output)")
            } else {
                #expect(elsewhere.code == 10 && elsewhere.error.contains("name the file that run uses"))
            }
            let taken = await stage.run("import", stage.site["store.db"], "--yes")
            #expect(taken.code == 0, "\(taken.error)")
            #expect(taken.output.contains("these accounts are closed") && taken.output.contains("took 0 accounts"))
            #expect(taken.output.contains("  \"anna b\"\n") && !taken.output.contains("read no file"))
            let list = await stage.run("accounts")
            #expect(list.code == 0 && !list.output.contains("anna"))
        }

        /// An operator who leaves out an option of the service is not told to begin again without its file.
        @Test func A237_aCommandBesideTheServiceAsksForItsFile() async throws {
            let stage = try await Stage()
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            try await Newcomer.register(anna, with: stage.store.service)
            let elsewhere = stage.site["other.revoked"]
            let closed = await stage.run("close", "anna", "--yes", "--revoked-log", elsewhere)
            #expect(closed.code == 10 && closed.error.contains("name the file that run uses"), "\(closed.error)")
            let withdrawn = await stage.run("withdraw", "0011223344556677", "--revoked-log", elsewhere)
            #expect(withdrawn.code == 10 && withdrawn.error.contains("name the file that run uses"))
            #expect(!closed.error.contains("--restored") && !withdrawn.error.contains("--restored"))
            #expect(!FileManager.default.fileExists(atPath: elsewhere))
            #expect(await stage.run("accounts").output.contains("\(anna.user)  active  "))
            await stage.stop()
        }

        @Test func anOperatorWithdrawsAnInvitationBesideTheService() async throws {
            let stage = try await Stage()
            let service = stage.store.service
            let invitation = try Invitation()
            let hash = try invitation.hash()
            let label = try Name(typed: "ward 3")
            _ = try await service.speaking(as: .person(stage.admin)).call(
                InviteRequest(hash: hash, label: label, until: SystemClock.read() + 86_400))
            let list = await stage.run("invitations")
            let id = Hex.text(hash.bytes.prefix(8))
            #expect(list.code == 0 && list.output.hasPrefix("\(id)  20") && list.output.hasSuffix("  -  ward 3\n"))
            let unknown = await stage.run("withdraw", "0011223344556677")
            #expect(unknown.code == 10 && unknown.error.contains("tresor-server invitations lists all"))
            let withdrawn = await stage.run("withdraw", id)
            #expect(withdrawn.code == 0, "\(withdrawn.error)")
            #expect(withdrawn.error.contains("\"event\":\"invitation-withdrawn\""))
            let rest = await stage.run("invitations")
            #expect(rest.code == 0 && rest.output.isEmpty)
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            await #expect(throws: TresorError.noAccess) {
                _ = try await service.speaking(as: .person(anna)).call(
                    RegisterRequest(chain: anna.chain.bytes, invitation: invitation.code, blinded: []))
            }
            await stage.stop()
        }

        /// Whom a thief invited with the operator's machine is told by the label.
        @Test func anAccountIsListedWithTheLabelOfItsInvitation() async throws {
            let stage = try await Stage()
            let service = stage.store.service
            for (handle, label) in [("anna", "ward 3"), ("bert", "")] {
                let invitation = try Invitation()
                let hash = try invitation.hash()
                let named = label.isEmpty ? Name.empty : try Name(typed: label)
                _ = try await service.speaking(as: .person(stage.admin)).call(
                    InviteRequest(hash: hash, label: named, until: SystemClock.read() + 86_400))
                let person = try Identity.make(handle: Name(typed: handle), time: SystemClock.read())
                try await Newcomer.register(person, with: service, invitation: invitation.code)
            }
            let list = await stage.run("accounts")
            for words in ["  0  0  0  anna  \"ward 3\"\n", "  0  0  0  bert\n", "  0  0  0  operator\n"] {
                #expect(list.output.contains(words), "\(list.output)")
            }
            await stage.stop()
        }

        /// The file of revocations is short again after a start.
        @Test func A237_aStartDropsWhatIsSuperseded() async throws {
            let stage = try await Stage()
            let path = stage.site["server.key.revoked"]
            let beginning = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            let server = try #require(Hash256(Array(beginning.dropFirst(16).prefix(32))))
            await stage.stop()
            var era = Era.first
            for _ in 0..<3 {
                era = try era.next()
                try RevokedLog.open(at: path, of: server, creating: false).append(
                    .sessions(UserID(.zero), until: era))
            }
            let next = try ServerProcess(["run", stage.site["clinic.db"], "--listen", "127.0.0.1:0"])
            _ = try #require(await next.port(), "\(next.said)")
            let size = RevokedLog.beginningByteCount + 3 * RevokedLog.recordByteCount  // two starts, one era
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == size)
            next.signal(SIGTERM)
            #expect(await next.end().code == 0)
        }
    }
#endif
