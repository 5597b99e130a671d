// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService

    /// Lists the open invitations of a service.
    struct InvitationsCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "invitations", abstract: "List the invitations with which nobody has an account yet.",
            discussion: """
                A line has the id of the invitation, the last day on which it is good, the handle of who has begun to \
                register with it, or -, and the label. The code of an invitation is not kept. It changes nothing, and may \
                run beside the service.
                """)

        @OptionGroup var place: StoreOptions

        func run() async throws {
            let (service, engine) = try await StoredService.open(place, migrating: false, verifyingUpTo: 0)
            for invitation in try await service.directory.allInvitations() { print(invitation.line) }
            await engine.close()
        }
    }

    /// Withdraws invitations.
    struct WithdrawCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "withdraw", abstract: "Withdraw an invitation, so that nobody registers with it.",
            discussion: """
                Somebody who has begun to register with it goes on as without an invitation. A person who has an account \
                by it keeps it. It may run beside the service. It writes the withdrawal into the file of revocations.
                """)

        @OptionGroup var place: StoreOptions

        @Argument(help: "The id that tresor-server invitations shows.")
        var invitation: String

        @OptionGroup var revocations: RevokedLogOptions

        func run() async throws {
            let (service, engine, log) = try await StoredService.open(place, noting: revocations)
            let found = try await service.directory.allInvitations().filter { $0.id == invitation.lowercased() }
            guard found.count == 1, let hash = found.first?.hash else {
                throw ServerFailure(.notFound, "no open invitation has this id; tresor-server invitations lists all")
            }
            do throws(TresorError) {
                try await service.directory.withdraw(hash)
            } catch {
                throw StoredService.failure(
                    error, after: log, "withdrew nothing", "the invitation may be withdrawn",
                    list: "tresor-server invitations")
            }
            await engine.close()
            print("withdrew the invitation \(invitation.lowercased())")
            StoredService.report(.invitationWithdrawn)
        }
    }

    extension AccountDirectory {
        /// All open invitations.
        fileprivate func allInvitations() async throws -> [OpenInvitation] {
            var all: [OpenInvitation] = []
            while true {
                let page = try await invitations(after: all.last?.hash)
                guard !page.isEmpty else { return all }
                all += page
            }
        }
    }

    extension AccountDirectory.OpenInvitation {
        /// The first 8 bytes of the hash, as the list shows them.
        fileprivate var id: String { Hex.text(hash.bytes.prefix(8)) }

        /// The line of the list.
        fileprivate var line: String {
            let day = CalendarTime(seconds: Int(clamping: until), milliseconds: 0).day
            return "\(id)  \(day)  \(handle?.shown ?? "-")  \(label.text)"
        }
    }
#endif
