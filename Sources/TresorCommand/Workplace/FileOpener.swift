// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Opens sealed files for the commands that do, and says of each what it was.
struct FileOpener {
    /// What is opened in memory if it lies in no file and goes to none.
    static let limit = 2 * DecryptCommand.standardOutputLimit
    /// Up to here a file is opened in memory whatever it is.
    static let smallByteCount = 1 << 20
    /// What is looked at before the rest is read.
    private static let beginningByteCount = 1 << 12

    let workplace: Workplace
    let acceptUnverified: Bool
    /// Whether a file is judged by what this home has verified, whatever the store shows.
    var acceptForked = false
    /// Whether what is opened is sealed again.
    var isResealing = false
    /// Whether its author must still be somebody who may write.
    var requiresCurrent = false

    /// Reads a sealed file, binary or armoured.
    ///
    /// - Parameter start: its beginning, if that has been read.
    func sealedFile(_ input: InputFile, startingWith start: [UInt8] = []) throws -> SealedFile {
        let start = start.isEmpty ? try input.start(Self.beginningByteCount) : start
        try checkHeader(start, of: input)
        var judge = StreamJudge(start)
        let bytes = try input.readAll(
            after: start, limit: Self.limit,
            tooLarge: CommandFailure(.usage, "\(input.shownName) is too large for one piece")
        ) { (part) throws(CommandFailure) in try self.judge(part, by: &judge, of: input) }
        do {
            return try SealedFile(bytes)
        } catch {
            throw failure(error, input)
        }
    }

    /// What is no sealed file from the start is not read to its end, which it may not have.
    private func checkHeader(_ start: [UInt8], of input: InputFile) throws {
        do {
            try SealedFile.checkBeginning(start)
        } catch {
            guard error == .altered, !Self.isNamedSealed(start) else { throw failure(error, input) }
            throw CommandFailure(error, "\(input.shownName) is not a sealed file", file: input.path)
        }
    }

    /// Whether bytes begin as a sealed file does, whatever follows.
    private static func isNamedSealed(_ start: [UInt8]) -> Bool {
        start.starts(with: "tresorF1".utf8) || start.starts(with: "-----BEGIN TRESOR FILE".utf8)
    }

    private func judge(
        _ part: [UInt8], by judge: inout StreamJudge, of input: InputFile
    ) throws(CommandFailure) {
        do {
            try judge.append(part)
        } catch {
            throw failure(error, input)
        }
    }

    /// A sealed file that is better not read into memory; `nil` for others.
    ///
    /// - Parameters:
    ///   - start: its beginning, as much as is small.
    ///   - output: the file beside which there is room for what comes through a pipe.
    func storedFile(
        _ input: InputFile, startingWith start: [UInt8], beside output: OutputFile? = nil
    ) throws -> StoredFile<SealedInput>? {
        let source: DescriptorSource
        if let count = input.byteCount {
            guard count > Self.smallByteCount else { return nil }
            source = DescriptorSource(input, count: count)
        } else {
            guard let output, start.count == Self.smallByteCount else { return nil }
            try checkHeader(start, of: input)
            var judge = StreamJudge(start)
            source = try DescriptorSource(spooling: input, startingWith: start, beside: output.path) {
                (part) throws(CommandFailure) in try self.judge(part, by: &judge, of: input)
            }
        }
        do {
            return try StoredFile(SealedInput(source, startingWith: start))
        } catch {
            throw failure(error, input)
        }
    }

    /// Opens a file in memory.
    func open(
        _ file: SealedFile, as session: Session, _ expectations: Expectations, from input: InputFile
    ) async throws -> OpenedFile {
        do {
            return try await attempt(file.header, as: session, from: input) { () throws(TresorError) in
                try await session.open(file, expecting: expectations)
            }
        } catch let failure as CommandFailure where failure.error == .forked {
            guard let author = await session.formerAuthor(of: file) else { throw failure }
            let liar = "\(Shown.name(author.handle.bytes)), \(Self.words(author.former)), made it up"
            let reading = "either the store shows another history, or \(liar)"
            throw CommandFailure(
                .forked, "\(input.shownName) names a state of the tresor that the store does not show: \(reading)",
                hints: ["tresor check"], file: input.path)
        }
    }

    /// The log that a file is judged by.
    func state(of tresor: TresorID) async throws(TresorError) -> State {
        if acceptForked, let known = try workplace.client.verifiedState(of: tresor) { return known }
        return try await workplace.client.state(of: tresor, remembering: .no)
    }

    /// Runs what opens a file, asking for the tresor's owner to be verified where that is missing.
    func attempt<Result>(
        _ header: FileHeader, as session: Session, from input: InputFile,
        _ body: () async throws(TresorError) -> Result
    ) async throws -> Result {
        do throws(TresorError) {
            return try await body()
        } catch {
            guard error == .unverified else { throw await failure(error, header, input, session) }
            let state = try await self.state(of: header.tresor)
            try await workplace.verifyFounder(
                of: state, for: session, accept: acceptUnverified, hint: "tresor … --accept-unverified")
        }
        return try await explaining(header, as: session, from: input, body)
    }

    /// Runs what works on a file, with words for what it throws.
    func explaining<Result>(
        _ header: FileHeader, as session: Session, from input: InputFile,
        _ body: () async throws(TresorError) -> Result
    ) async throws -> Result {
        do throws(TresorError) {
            return try await body()
        } catch {
            throw await failure(error, header, input, session)
        }
    }

    private func failure(
        _ error: TresorError, _ header: FileHeader, _ input: InputFile, _ session: Session
    ) async -> CommandFailure {
        guard error == .noAccess else {
            if error == .unverified,
                let state = try? await workplace.client.state(of: header.tresor, remembering: .no)
            {
                let people = workplace.peopleToCompare(in: state)
                return CommandFailure(
                    error, "\(input.shownName) is from somebody whose number has to be compared again",
                    hints: people.prefix(3).map { "tresor verify \(Shell.word($0.handle, or: $0.user))" },
                    file: input.path)
            }
            if error == .store(.behind) { return await behind(header, input, session) }
            if error == .forked {
                return CommandFailure(
                    error, "\(input.shownName) or the store belongs to another history than this home has verified",
                    hints: ["tresor check"], file: input.path)
            }
            return failure(error, input)
        }
        let id = header.tresor.description.prefix(10)
        let state: State?
        do throws(TresorError) {
            state = try await workplace.client.state(of: header.tresor, remembering: .no)
        } catch {
            // Nobody's refusal: a store that never had the log, such as another machine's.
            if error == .notFound { return missing(header.tresor, input) }
            state = nil
        }
        guard let state, workplace.isKnown(header.tresor), let owner = state.chain(of: state.founder) else {
            return CommandFailure(
                error, "\(input.shownName) is in the tresor \(id), which you cannot read",
                hints: ["ask its owner to run: tresor share -t \(id) \(me)"], file: input.path)
        }
        let handle = Shown.name(owner.handle.bytes)
        if state.members[session.identity.user] == nil {
            let name = session.knownName(of: header.tresor)
            let title = name.map { Shown.name($0.bytes) } ?? String(id)
            let word = name.map { Shell.word($0, or: header.tresor) } ?? String(id)
            return CommandFailure(
                error, "\(input.shownName) is in \(title) of \(handle), which you can no longer read",
                hints: ["ask \(handle) to run: tresor share -t \(word) \(me)"], file: input.path)
        }
        return await failure(error, of: session, in: state, input)
    }

    /// The store shows less of the log than the file names: an old copy of a store, or a file that nobody made honestly.
    private func behind(_ header: FileHeader, _ input: InputFile, _ session: Session) async -> CommandFailure {
        let state = try? await workplace.client.state(of: header.tresor, remembering: .no)
        let name = session.knownName(of: header.tresor).map { Shown.name($0.bytes) }
        let title = name ?? String(header.tresor.description.prefix(10))
        let shown = state.map { "entry \($0.head.sequence)" } ?? "no entry"
        return CommandFailure(
            .store(.behind),
            "the store has \(shown) of \(title), \(input.shownName) needs entry \(header.head.sequence): the store is behind, or the file is not genuine",
            hints: ["tresor … {--store} --store FILE"], file: input.path)
    }

    private func missing(_ tresor: TresorID, _ input: InputFile) -> CommandFailure {
        let path = (try? workplace.invocation.places.store()) ?? "store.db"
        return CommandFailure(
            .notFound,
            "\(input.shownName) is in the tresor \(tresor.description.prefix(10)), which the store at \(Shown.quoted(path)) does not have",
            hints: ["tresor … {--store} --store FILE"], file: input.path)
    }

    /// Why a member cannot have a file, as far as it can be told.
    private func failure(
        _ error: TresorError, of session: Session, in state: State, _ input: InputFile
    ) async -> CommandFailure {
        let user = session.identity.user
        let name = session.knownName(of: state.tresor)
        let title = name.map { Shown.name($0.bytes) } ?? String(state.tresor.description.prefix(10))
        let owner = workplace.handle(of: state.founder, in: state)
        if isResealing, state.members[user]?.role == .reader {
            return CommandFailure(error, "you may read \(title) of \(owner), not write in it", file: input.path)
        }
        if let wraps = try? await workplace.client.store.wraps(of: user, in: state.tresor, epoch: state.epoch),
            wraps.isEmpty
        {
            let word = name.map { Shell.word($0, or: state.tresor) } ?? String(state.tresor.description.prefix(10))
            if state.members[user]?.role == .owner {
                return CommandFailure(
                    error, "you have no key \(state.epoch) of \(title): nobody gave you one, or the store has lost it",
                    hints: ["tresor check", "tresor rotate -t \(word)"], file: input.path)
            }
            return CommandFailure(
                error, "the store has lost your key to \(title); another member can restore it",
                hints: ["ask \(owner) to run: tresor check --repair -t \(word)"], file: input.path)
        }
        let author =
            requiresCurrent ? "its author may no longer write in \(title)" : "its author was not allowed to write it"
        return CommandFailure(
            error, "\(input.shownName) is from before your time, or \(author)", file: input.path)
    }

    private func failure(_ error: TresorError, _ input: InputFile) -> CommandFailure {
        switch error {
        case .altered:
            CommandFailure(
                error, "\(input.shownName) is damaged, forged, or not the file that was asked for", file: input.path)
        case .unsupported:
            CommandFailure(
                error, "\(input.shownName) was made by a newer version, or is no sealed file", file: input.path)
        default: CommandFailure(error, "\(input.shownName): \(CommandFailure(error).message)", file: input.path)
        }
    }

    private var me: String {
        (try? workplace.client.identityFile().chain).map { Shell.word($0.handle, or: $0.user) } ?? "YOU"
    }

    enum Report {
        case line(String)
        case object(JSONObject)

        /// - Parameter beforeContent: whether the content follows on a terminal.
        func print(_ output: Output, beforeContent: Bool = false) throws(CommandFailure) {
            switch self {
            case .line(let text): beforeContent ? output.announce(text) : output.say(text)
            case .object(let object): try output.object(object)
            }
        }
    }

    /// What is said of every file of one tresor.
    struct Setting {
        /// With --accept-forked the one the file was judged by; none when the store could not be read.
        let state: State?
        let name: String
        /// Knows this person's marks.
        fileprivate let client: Client
        /// How those stand whose files were reported.
        fileprivate var verified: [UserID: String] = [:]
    }

    /// What to say of the files of a tresor, as things are now.
    func setting(of tresor: TresorID, as session: Session) async -> Setting {
        let state = try? await self.state(of: tresor)
        return Setting(
            state: state, name: await name(of: tresor, in: state, as: session), client: session.client)
    }

    /// The line on standard error, or the object: whose it is, when, where, under which key.
    ///
    /// It is made before the content is released, because it can fail.
    func report(
        _ opened: FileProof, input: InputFile, output: OutputFile?, in setting: inout Setting, json: Bool
    ) throws -> Report {
        let (state, name) = (setting.state, setting.name)
        let author = opened.author
        let verified = try setting.verified[author.user] ?? verification(of: author.user, in: setting)
        setting.verified[author.user] = verified
        if json { return .object(object(opened, input, output, verified)) }
        let standing = Self.words(author.standing).map { [$0] } ?? []
        var text =
            "from \(Shown.name(author.handle.bytes)) (\(([verified] + standing).joined(separator: ", "))), \(Timestamp(seconds: author.time).dateAndMinute)"
        text += ", \(name), key \(opened.epoch)"
        if !opened.record.isEmpty { text += ", record \(Shown.quoted(opened.record.bytes))" }
        if let state, !Defence.olderState.holds(opened.sealer.head.sequence >= state.head.sequence) {
            text += ", sealed before the log's newest entry"
        }
        return .line(text + Self.resealing(of: opened))
    }

    /// Who sealed a file again, when, and how they stand; empty for a file as its author left it.
    static func resealing(of file: FileProof) -> String {
        guard file.origin != nil else { return "" }
        let sealer = file.sealer
        let standing = words(sealer.standing).map { " (\($0))" } ?? ""
        let time = Timestamp(seconds: sealer.time).dateAndMinute
        return ", resealed by \(Shown.name(sealer.handle.bytes)) \(time)\(standing)"
    }

    private func name(of tresor: TresorID, in state: State?, as session: Session) async -> String {
        let opened: Name? = if let state { try? await session.name(in: state) } else { nil }
        let name = opened ?? session.knownName(of: tresor)
        return name.map { Shown.name($0.bytes) } ?? String(tresor.description.prefix(10))
    }

    private func verification(of user: UserID, in setting: Setting) throws -> String {
        guard let state = setting.state else { return "history differs" }
        guard state.chain(of: user) != nil else { return "not verified" }
        switch try setting.client.trust(of: user, in: state) {
        case .me: return "you"
        case .verified: return "verified"
        case .renewed: return "new keys, compare numbers again"
        case .changed: return "not verified"
        case .unverified:
            guard user != state.founder, try setting.client.founderTrust(in: state).isVerified else {
                return "not verified"
            }
            return "named by \(workplace.handle(of: state.founder, in: state))"
        }
    }

    /// What is said of a standing; `nil` of one that needs no words.
    static func words(_ standing: Standing) -> String? {
        guard case .former(let former) = standing else { return nil }
        return words(former)
    }

    private static func words(_ former: Standing.Former) -> String {
        let date = Timestamp(seconds: former.time).date
        switch former.cause {
        case .removed: return "put out \(date)"
        case .left: return "left \(date)"
        case .roleChanged: return "may no longer write since \(date)"
        case .keyRenewed: return "has new keys since \(date)"
        }
    }

    private func object(
        _ opened: FileProof, _ input: InputFile, _ output: OutputFile?, _ verified: String
    ) -> JSONObject {
        var object: JSONObject = ["type": "opened"]
        if let path = input.path { object["input"] = .string(path) }
        if let output { object["file"] = .string(output.path) }
        object["tresor"] = .string(opened.tresor.description)
        object["key"] = .unsigned(opened.epoch)
        object["head"] = .unsigned(opened.sealer.head.sequence)
        object["record"] = .text(opened.record.bytes)
        object["content_type"] = .text(opened.type.bytes)
        object["size"] = .unsigned(UInt64(opened.contentByteCount))
        object["author"] = Self.author(opened.author)
        object["verified"] = .string(verified)
        if opened.origin != nil { object["resealed_by"] = Self.author(opened.sealer) }
        return object
    }

    private static func author(_ author: FileAuthor) -> JSON {
        var object: JSONObject = [
            "handle": .text(author.handle.bytes), "user": .string(author.user.description),
            "generation": .unsigned(UInt64(author.generation)), "time": .time(author.time),
        ]
        switch author.standing {
        case .current: object["standing"] = "current"
        case .former(let former):
            object["standing"] = "former"
            object["cause"] = .string(former.cause.rawValue)
            object["since"] = .time(former.time)
        }
        return .object(object)
    }
}

extension Workplace {
    /// Whether this home has verified a log of the tresor.
    func isKnown(_ tresor: TresorID) -> Bool {
        (try? client.knownTresors().contains(tresor)) ?? false
    }
}
