// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore

/// The report on an opened file.
enum FileReport {
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

/// Reports the authors of the files of one tresor, with their present status.
struct FileReporter {
    /// With --accept-forked the one the file was judged by; none when the store could not be read.
    let state: LogState?
    private let name: String
    /// Knows this person's marks.
    private let client: Client
    private let tresors: TresorResolver
    /// The verification of each reported author.
    private var verified: [UserID: String] = [:]

    init(of tresor: TresorID, in state: LogState?, as session: Session, _ tresors: TresorResolver) async {
        self.state = state
        self.tresors = tresors
        client = session.client
        name = await Self.name(of: tresor, in: state, as: session)
    }

    /// The line on standard error, or the object: the author, the time, the tresor and the key.
    ///
    /// It is made before the content is released, because it can fail.
    mutating func report(
        _ opened: FileProof, input: InputFile, output: OutputFile?, json: Bool
    ) throws -> FileReport {
        let author = opened.author
        let verified = try self.verified[author.user] ?? verification(of: author.user)
        self.verified[author.user] = verified
        if json { return .object(object(opened, input, output, verified)) }
        let status = ([verified] + (Self.words(author.status).map { [$0] } ?? [])).joined(separator: ", ")
        let time = Timestamp(seconds: author.time).dateAndMinute
        var text = "from \(tresors.name(author.handle, of: author.user, in: state)) (\(status)), \(time)"
        text += ", \(name), key \(opened.epoch)"
        if !opened.record.isEmpty { text += ", record \(DisplayText.quoted(opened.record.bytes))" }
        if let state, opened.sealer.head.sequence < state.head.sequence {
            text += ", sealed before the log's newest entry"
        }
        return .line(text + Self.resealing(of: opened))
    }

    /// The member who resealed a file, with time and status; empty for a file as its author left it.
    static func resealing(of file: FileProof) -> String {
        guard file.origin != nil else { return "" }
        let sealer = file.sealer
        let standing = words(sealer.status).map { " (\($0))" } ?? ""
        let time = Timestamp(seconds: sealer.time).dateAndMinute
        return ", resealed by \(DisplayText.name(sealer.handle.bytes)) \(time)\(standing)"
    }

    private static func name(of tresor: TresorID, in state: LogState?, as session: Session) async -> String {
        let opened: Name? = if let state { try? await session.tresors.name(in: state) } else { nil }
        let name = opened ?? session.tresors.knownNameBlocking(of: tresor)
        return name.map { DisplayText.name($0.bytes) } ?? String(tresor.description.prefix(10))
    }

    /// The author of a record, as in the line of a file: `bob (verified, removed 2026-05-02)`.
    func words(of user: UserID, _ status: AuthorStatus) throws -> String {
        let handle = state.map { tresors.handle(of: user, in: $0) } ?? ShortID.text(of: user)
        let words = [try verification(of: user)] + (Self.words(status).map { [$0] } ?? [])
        return "\(handle) (\(words.joined(separator: ", ")))"
    }

    private func verification(of user: UserID) throws -> String {
        guard let state else { return "history differs" }
        guard state.chain(of: user) != nil else { return "not verified" }
        switch try client.trust.memberTrustBlocking(of: user, in: state) {
        case .me: return "you"
        case .verified: return "verified"
        case .renewed: return "new keys, compare safety numbers again"
        case .changed: return "not verified"
        case .unverified:
            guard user != state.founder, try client.trust.founderTrust(in: state).isVerified else {
                return "not verified"
            }
            return "named by \(tresors.handle(of: state.founder, in: state))"
        }
    }

    /// The words for an author status; `nil` for a current author.
    static func words(_ standing: AuthorStatus) -> String? {
        guard case .former(let former) = standing else { return nil }
        return words(former)
    }

    static func words(_ former: AuthorStatus.Former) -> String {
        let date = Timestamp(seconds: former.time).date
        switch former.cause {
        case .removed: return "removed \(date)"
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
        object.add(author.status)
        return .object(object)
    }
}

extension JSONObject {
    /// Adds the members that say whether an author may still write.
    mutating func add(_ status: AuthorStatus) {
        switch status {
        case .current: self["standing"] = "current"
        case .former(let former):
            self["standing"] = "former"
            self["cause"] = .string(former.cause.rawValue)
            self["since"] = .time(former.time)
        }
    }
}
