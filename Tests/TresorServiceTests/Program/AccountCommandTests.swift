// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote

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

            init() async throws {
                site = try Site()
                admin = try Identity.make(handle: Name(typed: "operator"), time: 1_800_000_000)
                try Data(admin.chain.bytes).write(to: URL(fileURLWithPath: site["operator.card"]))
                let made = await ServerProcess.run([
                    "init", site["clinic.db"], "--operator", site["operator.card"], "--registration", "open",
                ])
                #expect(made.code == 0, "\(made.error)")
                server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
                let port = try #require(await server.port(), "\(server.said)")
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
            #expect(lines.contains { $0.hasPrefix("\(anna.user)  active  ") && $0.hasSuffix("  0  0  anna") })
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
                try await Speaker.person(anna).call(from: nil) { () async throws(TresorError) in
                    _ = try await service.call(AccountRequest())
                }
            }
            let again = await stage.run("close", "\(anna.user)", "--yes")
            #expect(again.code == 0 && again.output.contains("closed already"))
            let later = await stage.run("accounts")
            #expect(later.output.contains("\(anna.user)  closed  "))
            let size = RevokedLog.beginningByteCount + RevokedLog.recordByteCount
            #expect(try Data(contentsOf: URL(fileURLWithPath: stage.site["server.key.revoked"])).count == size)
            await stage.stop()
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

        @Test func anOperatorWithdrawsAnInvitationBesideTheService() async throws {
            let stage = try await Stage()
            let service = stage.store.service
            let invitation = try Invitation()
            let hash = try invitation.hash()
            try await Speaker.person(stage.admin).call(from: nil) { () async throws(TresorError) in
                let label = try Name(typed: "ward 3")
                _ = try await service.call(
                    InviteRequest(hash: hash, label: label, until: SystemClock.read() + 86_400))
            }
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
                try await Speaker.person(anna).call(from: nil) { () async throws(TresorError) in
                    _ = try await service.call(
                        RegisterRequest(chain: anna.chain.bytes, invitation: invitation.code, blinded: []))
                }
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
            let size = RevokedLog.beginningByteCount + RevokedLog.recordByteCount
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == size)
            next.signal(SIGTERM)
            #expect(await next.end().code == 0)
        }
    }
#endif
