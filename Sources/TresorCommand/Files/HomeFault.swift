// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Why a directory or file of a home cannot be used: a link, its owner or its mode.
enum HomeFault {
    /// Names the object that a call of the home failed for, or what is wrong with its surroundings.
    ///
    /// - Parameter object: the object of the call; `nil` for one of the locks.
    /// - Returns: `nil` for an error that says nothing about the files of the home.
    static func failure(for error: TresorError, of object: HomeObject?, in home: DirectoryHome) -> CommandFailure? {
        switch error {
        case .failed(.permissions), .failed(.readOnly):
            if let failure = home.places(of: object).lazy.compactMap({ failure(at: $0) }).first { return failure }
        case .failed(.full), .failed(.inputOutput): break
        default: return nil
        }
        let path = object.map(home.path(of:)) ?? home.places(of: nil)[0].path
        return CommandFailure(
            of: error, "\(DisplayText.quoted(path)): \(CommandFailure.words(for: error))", file: path)
    }

    /// Names an object of the home that does not decode, what the home lacks without it, and the command that sets it
    /// aside.
    static func damaged(_ object: HomeObject, _ error: TresorError, at path: String) -> CommandFailure {
        let words = "\(DisplayText.quoted(path)): \(CommandFailure.words(for: error))"
        // A newer release reads what is not supported here.
        guard error == .altered else { return CommandFailure(of: error, words, file: path) }
        return CommandFailure(
            of: error, loss(of: object).map { "\(words); \($0)" } ?? words,
            hints: [wayOut(at: path), object == .identity ? "tresor recover" : "tresor check"], file: path)
    }

    /// The command that sets an object aside.
    static func wayOut(at path: String) -> String { "mv \(Shell.path(path)) \(Shell.path(path + ".damaged"))" }

    /// The words for what a home lacks without an object (SPEC §8.5); `nil` for one that other hints bring back.
    static func loss(of object: HomeObject) -> String? {
        switch object {
        case .pins: "it says whom you have verified: without it, compare safety numbers again"
        case .heads:
            "it remembers the newest state of each tresor: without it, an older one that the store shows next is not "
                + "noticed"
        case .marks: "it says which tresors you made or hid: without it, confirm yours again, and hidden ones are shown"
        case .cleanupJournal:
            "it says what an interrupted change left in the store, and whether new keys are in all your tresors: without "
                + "it, the first stays there, and for the second run \(HintCompletion.command("rotate --identity")) again"
        case .notedStores:
            "it says which store has which tresor: without it, a store that does not have a tresor counts as silent; say "
                + "again where other stores and kit copies are"
        case .knownServices:
            "it says which service is at each address: without it, the service that answers next is taken as the one you "
                + "know"
        case .knownLogins:
            "it remembers the newest log-in at each service: without it, the one that the service shows next is taken as "
                + "yours"
        case .wraps:
            "it keeps your keys of tresors, for a store that loses them; the next command that opens one keeps it again"
        default: nil
        }
    }

    /// Names the fault of one place, and the command that mends it; `nil` for none.
    static func failure(at place: DirectoryHome.Place) -> CommandFailure? {
        let (path, error) = (place.path, CommandError.failed(.permissions))
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let (shown, word) = (DisplayText.quoted(path), Shell.path(path))
        if status.isKind(S_IFLNK) {
            let target = target(of: path)
            return CommandFailure(
                error, "\(shown) is a link to \(DisplayText.quoted(target)), and a home follows no link",
                hints: ["mv \(Shell.path(target)) \(word)"], file: path)
        }
        let (me, isDirectory) = (geteuid(), status.isKind(S_IFDIR))
        guard status.st_uid == me else {
            let (owner, caller) = (SystemName.of(user: status.st_uid), SystemName.of(user: me))
            return CommandFailure(
                error, "\(shown) belongs to \(owner), and you are \(caller)",
                hints: [hint(for: word, isDirectory: isDirectory, isInside: place.isInside, owner, caller)], file: path)
        }
        guard status.st_mode & mode_t(place.forbidden) == 0 else {
            return CommandFailure(
                error, "\(shown) can be read or changed by others",
                hints: ["chmod \(isDirectory ? "700" : "600") \(word)"], file: path)
        }
        return nil
    }

    /// The command that mends the owner. What is named as the home can be any directory, `/etc` too.
    private static func hint(
        for word: String, isDirectory: Bool, isInside: Bool, _ owner: String, _ caller: String
    ) -> String {
        if isInside { return "sudo chown \(isDirectory ? "-R " : "")\(caller) \(word)" }
        // Files of root in somebody's home would close it to them.
        guard geteuid() == 0 else { return "tresor … {--home} --home DIR" }
        // The owner finds their own home without the option, and its state lies apart then. sudo passes no variable on.
        let isNamed = HintCompletion.gives("--home") || (try? Environment.current())?.home != nil
        let user = owner.allSatisfy(\.isNumber) ? Shell.word("#\(owner)") : owner
        return "sudo -u \(user) " + HintCompletion.complete(isNamed ? "tresor … {--home} --home \(word)" : "tresor … ")
    }

    private static func target(of path: String) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        let target = String(decoding: bytes.prefix(max(0, count)).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
        return target.hasPrefix("/") ? target : Paths.join(AtomicFile.split(path).directory, target)
    }
}
