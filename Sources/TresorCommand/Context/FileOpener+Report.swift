// SPDX-License-Identifier: Apache-2.0

import Tresor

/// What is said of a file that was opened.
extension FileOpener {
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
        let state: LogState?
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
        let standing = Self.words(author.status).map { [$0] } ?? []
        var text =
            "from \(DisplayText.name(author.handle.bytes)) (\(([verified] + standing).joined(separator: ", "))), \(Timestamp(seconds: author.time).dateAndMinute)"
        text += ", \(name), key \(opened.epoch)"
        if !opened.record.isEmpty { text += ", record \(DisplayText.quoted(opened.record.bytes))" }
        if let state, opened.sealer.head.sequence < state.head.sequence {
            text += ", sealed before the log's newest entry"
        }
        return .line(text + Self.resealing(of: opened))
    }

    /// Who sealed a file again, when, and how they stand; empty for a file as its author left it.
    static func resealing(of file: FileProof) -> String {
        guard file.origin != nil else { return "" }
        let sealer = file.sealer
        let standing = words(sealer.status).map { " (\($0))" } ?? ""
        let time = Timestamp(seconds: sealer.time).dateAndMinute
        return ", resealed by \(DisplayText.name(sealer.handle.bytes)) \(time)\(standing)"
    }

    private func name(of tresor: TresorID, in state: LogState?, as session: Session) async -> String {
        let opened: Name? = if let state { try? await session.tresors.name(in: state) } else { nil }
        let name = opened ?? session.tresors.knownName(of: tresor)
        return name.map { DisplayText.name($0.bytes) } ?? String(tresor.description.prefix(10))
    }

    private func verification(of user: UserID, in setting: Setting) throws -> String {
        guard let state = setting.state else { return "history differs" }
        guard state.chain(of: user) != nil else { return "not verified" }
        switch try setting.client.trust.memberTrust(of: user, in: state) {
        case .me: return "you"
        case .verified: return "verified"
        case .renewed: return "new keys, compare numbers again"
        case .changed: return "not verified"
        case .unverified:
            guard user != state.founder, try setting.client.trust.founderTrust(in: state).isVerified else {
                return "not verified"
            }
            return "named by \(workplace.handle(of: state.founder, in: state))"
        }
    }

    /// What is said of a standing; `nil` of one that needs no words.
    static func words(_ standing: AuthorStatus) -> String? {
        guard case .former(let former) = standing else { return nil }
        return words(former)
    }

    static func words(_ former: AuthorStatus.Former) -> String {
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
        switch author.status {
        case .current: object["standing"] = "current"
        case .former(let former):
            object["standing"] = "former"
            object["cause"] = .string(former.cause.rawValue)
            object["since"] = .time(former.time)
        }
        return .object(object)
    }
}
