// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService

    /// Lists the accounts of a service.
    struct AccountsCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "accounts", abstract: "List the accounts of a service.",
            discussion: """
                A line has the id of the person, the state, the day of registration, the number of tresors that they \
                founded, the number of tresors in which they are, the bytes of those that they founded, the handle, and the \
                label of the invitation by which they came, if there was one. It changes nothing, and may run beside the \
                service.
                """)

        @OptionGroup var place: StoreOptions

        func run() async throws {
            let (service, engine) = try await StoredService.open(place, migrating: false, verifyingUpTo: 0)
            var last: UserID?
            var handles: [Skeleton: Set<Name>] = [:]
            while true {
                let people = try await service.directory.people(after: last)
                for person in people {
                    print(person.line)
                    for look in Self.looks(of: person.handle) { handles[look, default: []].insert(person.handle) }
                }
                guard let next = people.last?.user else { break }
                last = next
            }
            await engine.close()
            for line in Self.lines(of: Set(handles.values).map(Array.init)) {
                StandardError.write("tresor-server: \(line)\n")
            }
        }

        /// The looks of a handle: as it is, and without capital letters and needless blanks, which people read over.
        static func looks(of handle: Name) -> Set<Skeleton> {
            let plain = handle.text.lowercased().split(separator: " ").joined(separator: " ")
            return Set([handle, (try? Name(text: plain)) ?? handle].map(Skeleton.init(of:)))
        }

        /// The number of handles in a line. Somebody may register very many that look alike.
        private static let lineCount = 8

        /// The lines of the groups in which several handles look alike, in byte order.
        static func lines(of groups: [[Name]]) -> [String] {
            func precedes(_ one: Name, _ other: Name) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }
            let alike = groups.filter { $0.count > 1 }.map { $0.sorted(by: precedes) }
            return alike.sorted { precedes($0[0], $1[0]) }.map { (group) -> String in
                let names = group.prefix(lineCount).map(letters).joined(separator: ", ")
                let rest = group.count > lineCount ? ", and \(group.count - lineCount) more" : ""
                return "these handles look alike: \(names)\(rest)"
            }
        }

        /// A handle with the numbers of its letters that are not ASCII, by which two that look alike differ.
        private static func letters(of handle: Name) -> String {
            let others = handle.text.unicodeScalars.filter { !$0.isASCII }.map {
                "U+" + String($0.value, radix: 16, uppercase: true)
            }
            return ShownText.name(handle) + (others.isEmpty ? "" : " (\(others.joined(separator: " ")))")
        }
    }

    /// Closes accounts for the operator.
    struct CloseCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "close", abstract: "Close the account of somebody who has left, for ever.",
            discussion: """
                Their sessions end, their trusted devices are removed, and their kit copies are deleted. Nobody else gets \
                their handle. All tresors stay as they are: an owner of each takes the person out with tresor revoke. It \
                may run beside the service. It writes the closing into the file of revocations, so that no backup opens the \
                account again.
                """)

        @OptionGroup var place: StoreOptions

        @Argument(help: "The handle of the person, or the id that tresor-server accounts shows.")
        var person: String

        @OptionGroup var revocations: RevokedLogOptions

        @Flag(help: "Do not ask.")
        var yes = false

        func run() async throws {
            let (service, engine, log) = try await StoredService.open(place, noting: revocations)
            let found = try await find(in: service.directory)
            guard found.state != .closed else {
                try await note(found, at: service.id, in: log)
                await engine.close()
                return print("the account of \(ShownText.name(found.handle)) is closed already")
            }
            guard found.state == .active else {
                throw ServerFailure(
                    .failed(.other),
                    "\(ShownText.name(found.handle)) has no account yet; the operator refuses them with "
                        + "tresor approve \(found.user) --refuse")
            }
            guard found.user != service.operatorsID else {
                throw ServerFailure(
                    .noAccess, "\(ShownText.name(found.handle)) is the operator, without whom nobody could be admitted")
            }
            try await ask(about: found, service.directory)
            do throws(TresorError) {
                try await service.directory.close(found.user)
            } catch {
                throw StoredService.failure(
                    error, after: log, "closed nothing", "the account of \(ShownText.name(found.handle)) may be closed",
                    list: "tresor-server accounts")
            }
            await engine.close()
            print("closed the account of \(ShownText.name(found.handle))")
            StoredService.report(.accountClosed)
        }

        /// Finds the person by handle or id. A handle may look like the id of somebody else.
        private func find(in directory: AccountDirectory) async throws -> AccountDirectory.Person {
            var byID: AccountDirectory.Person?
            if let user = UserID(person) { byID = try await directory.person(user) }
            var byHandle: AccountDirectory.Person?
            if let handle = try? Name(typed: person) { byHandle = try await directory.person(called: handle) }
            if let byID, let byHandle, byID.user != byHandle.user {
                throw ServerFailure.usage(
                    "\(person) is the id of one person and the handle of another: name the first by the handle, "
                        + "\(ShownText.name(byID.handle)), or the other by the id, \(byHandle.user)")
            }
            guard let found = byID ?? byHandle else {
                throw ServerFailure(
                    .notFound, "nobody here has this handle or id; tresor-server accounts lists all")
            }
            return found
        }

        /// Writes down that an account is closed, if this file does not say so: a process with another file may have closed
        /// it.
        private func note(
            _ person: AccountDirectory.Person, at server: Hash256, in log: RevokedLog
        ) async throws {
            do throws(TresorError) {
                let revocation = Revocation.account(
                    person.user, handle: try Revocation.hash(of: person.handle, at: server))
                if try await !log.contains(revocation) { try log.append(revocation) }
            } catch {
                throw ServerFailure(
                    error,
                    "the account of \(ShownText.name(person.handle)) is closed, but the file of revocations may not say so: "
                        + RevokedLogOptions.Opener.another.words(for: error))
            }
        }

        /// Says what closing does, and asks.
        private func ask(about person: AccountDirectory.Person, _ directory: AccountDirectory) async throws {
            let number = try await directory.chain(of: person.user).number().grouped
            print("closes the account of \(ShownText.name(person.handle)), safety number \(number)")
            print("nothing opens it again, and nobody else gets the handle")
            let way = person.joined > 0 ? "; an owner takes them out with tresor revoke" : ""
            print(
                "tresors stay as they are: \(person.founded) that this person founded, \(person.joined) that they are "
                    + "in\(way)")
            let alone = try await directory.loneTresors(of: person.user)
            if alone > 0 {
                print("\(alone) that nobody else owns: nobody can share it further or take anybody out")
            }
            if person.approving > 0 {
                print(
                    "\(person.approving) whose shares they approve: where nobody else does, who is shared with waits for "
                        + "ever; an owner names others with tresor rotate -t T --approver PERSON, or --no-approver")
            }
            let owners = try await directory.owners(beside: person.user)
            if !owners.handles.isEmpty {
                let names = owners.handles.map(ShownText.name).joined(separator: ", ")
                print("the other owners, to ask first: \(names)\(owners.areCut ? ", and more" : "")")
            }
            try Confirmation.require(yes, refusing: "closed nothing")
        }
    }

    extension AccountDirectory.Person {
        /// The line of the list.
        fileprivate var line: String {
            let state =
                switch state {
                case .asked: "asked"
                case .complete: "waits"
                case .active: "active"
                case .closed: "closed"
                }
            let day = CalendarTime(seconds: Int(clamping: registered), milliseconds: 0).day
            let label = label.map { $0.isEmpty ? "" : "  \(ShownText.name($0))" } ?? ""
            let counts = "\(founded)  \(joined + approving)  \(bytes)"
            return "\(user)  \(state)  \(day)  \(counts)  \(ShownText.name(handle))\(label)"
        }
    }
#endif
