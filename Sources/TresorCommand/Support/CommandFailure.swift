// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto
import TresorRecords
import TresorRemote
import TresorSQLite

/// The failure of a command, as told to a person or a script.
///
/// The message is lower case without a full stop and holds no byte of any input; names from others go through
/// ``DisplayText`` before they come here. A hint is a command ready to paste.
struct CommandFailure: Error, Sendable {
    let error: CommandError
    let message: String
    /// At most three are printed.
    var hints: [String]
    /// The file the failure is about, as it was named on the command line.
    var file: String?
    /// The command's usage line, for wrong arguments.
    var usage: String?

    init(_ error: CommandError, _ message: String, hints: [String] = [], file: String? = nil, usage: String? = nil) {
        self.error = error
        self.message = message
        self.hints = hints
        self.file = file
        self.usage = usage
    }

    /// A failure of the library, in the command's words.
    init(of error: TresorError, _ message: String, hints: [String] = [], file: String? = nil) {
        self.init(CommandError(error), message, hints: hints, file: file)
    }

    /// A failure of the library for which the command has no better words.
    init(_ error: TresorError, file: String? = nil, hints: [String] = []) {
        if file == nil, let failure = Surroundings.current.homeFault.failure(for: error) {
            self = failure
            return
        }
        let person = error == .unverified ? Surroundings.current.unverified.failure : nil
        let words = person?.message ?? Self.words(for: error)
        if let person, hints.isEmpty {
            self = CommandFailure(
                of: error, file.map { "\(DisplayText.quoted($0)): \(words)" } ?? words, hints: person.hints, file: file)
            return
        }
        let hints = hints.isEmpty && Self.isForAnAuthority(error) ? ["tresor … {--store-ca} --store-ca FILE"] : hints
        self.init(of: error, file.map { "\(DisplayText.quoted($0)): \(words)" } ?? words, hints: hints, file: file)
    }

    /// Whether another authority may vouch for the service.
    private static func isForAnAuthority(_ error: TresorError) -> Bool {
        guard error == .store(.certificate) else { return false }
        return switch Surroundings.current.obstacle.value {
        case nil, .certificate(.authority): true
        default: false
        }
    }

    /// The failure to send changes of records.
    ///
    /// - Parameter rotation: what makes the next entry of the log: a command, or whom to ask for it.
    init(sending report: SyncReport, _ error: TresorError, rotation: String) {
        guard let record = report.damaged else {
            if error == .failed(.clock) { self.init(ofClock: rotation) } else { self.init(error) }
            return
        }
        guard report.isFrozen else {
            self.init(damaged: record, error)
            return
        }
        self.init(
            of: error,
            "the home has lost a piece of what was sent of \(DisplayText.quoted(record)), "
                + "and makes it again once the log has another entry", hints: [rotation])
    }

    /// The failure of a clock that is too far from a log's.
    ///
    /// - Parameter rotation: the command that asks a person whether the clock is right.
    init(ofClock rotation: String) {
        self.init(
            of: .failed(.clock),
            "\(TresorError.Fault.clock.rawValue): set it; if it is right, run this at a terminal, which asks",
            hints: [rotation])
    }

    /// The failure to read a content of a record that is not sent yet: the home has lost or altered a piece of it.
    init(damaged record: String, _ error: TresorError) {
        self.init(of: error, "the home cannot read the unsent content of \(DisplayText.quoted(record)): put it again")
    }

    static func usage(_ message: String, hints: [String] = []) -> CommandFailure {
        CommandFailure(.usage, message, hints: hints)
    }

    /// The failure that any error stands for.
    init(_ error: any Error, file: String? = nil) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as TresorError: self.init(error, file: file, hints: [])
        default: self.init(.failed(.other), file: file)
        }
    }

    var exitCode: Int32 { error.exitCode }

    /// The words for a signal, and for a cancelled task.
    static let interrupted = "interrupted"

    private static let unknown = "; nobody knows whether the change was made: look before you repeat it"

    /// Where the store in use is, for the message of a store failure.
    private static let storePlace = Mutex((text: "", path: "", isService: false))

    static func storeIs(at path: String) {
        storePlace.withLock { $0 = (" at \(DisplayText.quoted(path))", path, ServiceAddress.isMeant(by: path)) }
    }

    /// The words for the store in a file whose disk has no room for more.
    private static var fullDisk: String {
        let room = StoreFile.room(at: storePlace.withLock { $0.path })
        let left = room.map { "its disk has \($0) bytes left, some of them kept to delete what is there" }
        return "\(TresorError.Fault.full.rawValue): \(left ?? "its disk or a quota is full"); "
            + "make room on it, or copy the file to a larger one"
    }

    /// The words for a service without room, with the reason.
    static func noRoom(_ reason: String) -> String {
        "the store\(storePlace.withLock { $0.text }) has no room left: \(reason)"
    }

    static func words(for error: TresorError) -> String {
        switch error {
        case .failed(.clock):
            "\(TresorError.Fault.clock.rawValue): set it; if it is right, run at a terminal, which asks: tresor rotate -t T"
        case .failed(let fault): fault.rawValue
        case .notFound: "not found"
        case .busy: "someone else is writing, or something changed during the command; look and try again"
        case .wrongPassword: "wrong password"
        case .noAccess: Surroundings.current.keys.refusal?.message ?? "no access"
        case .altered: "damaged, forged, or not what was asked for"
        case .forked: "the store shows an older or a different history than before"
        case .unverified: "a person is not verified, or is not who they were"
        case .waiting: "you are not approved, or not admitted, yet; run the same command again later"
        case .store(.full) where storePlace.withLock({ $0.isService }):
            noRoom(
                Surroundings.current.obstacle.isQuota.map { isQuota in
                    isQuota
                        ? "a limit of what you, or who made the tresor, may keep there is reached"
                        : "its disk is full; tell its operator"
                } ?? "there was none when it was last tried")
        case .store(.behind) where Surroundings.current.obstacle.isBehind:
            "the store\(storePlace.withLock { $0.text }) failed: \(Obstacle.behind.words)"
        case .store(.full): "the store\(storePlace.withLock { $0.text }) failed: \(fullDisk)"
        case .store(let fault):
            "the store\(storePlace.withLock { $0.text }) failed: "
                + (Surroundings.current.obstacle.value.flatMap { $0.fault == fault ? $0.words : nil } ?? fault.rawValue)
                + (Surroundings.current.obstacle.mayBeDone ? unknown : "")
        case .unsupported: "made by a newer version, or not built yet"
        case .usage(let misuse): misuse.rawValue
        case .cancelled: interrupted
        }
    }
}

/// Ends the command with a code after all its messages.
struct Exit: Error, Equatable, Sendable {
    let code: Int32
}
