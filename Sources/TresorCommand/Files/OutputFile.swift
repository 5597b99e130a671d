// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The people who may use a written file.
enum FileAccess: Sendable {
    /// 0600: decrypted content, kits, identities.
    case owner
    /// By umask: sealed files and cards.
    case everybody
    /// As the file that was read and is replaced: its owner, group, mode, access list and user attributes.
    case asBefore(InputFile)
}

/// An output file that is wholly the old one or wholly the new one, never a part.
///
/// Nothing exists before the first byte is written. The written file has no name if the system allows that, otherwise a
/// temporary one beside the target that an interrupt removes; ``commit()`` makes it durable and renames it into place.
/// All names are taken relative to the directory opened once, and no link is followed.
final class OutputFile {
    let path: String
    private let access: FileAccess
    private let replaces: Bool
    private let elsewhere: (String) -> String?
    private var draft: Draft?

    /// - Parameters:
    ///   - path: where the file will be.
    ///   - replaces: whether an existing file may be replaced.
    ///   - elsewhere: the hint that writes to another file, or to standard output for `-`; `nil` where there is none.
    init(
        path: String, access: FileAccess, replaces: Bool = true,
        elsewhere: @escaping (String) -> String? = { "tresor … -o \($0)" }
    ) {
        self.path = path
        self.access = access
        self.replaces = replaces
        self.elsewhere = elsewhere
    }

    deinit {
        draft?.discard()
    }

    /// Refuses an output that is one of the inputs, whatever they are called.
    func refuse(_ input: InputFile) throws(CommandFailure) {
        guard let target = FileIdentity(path: path), target == input.identity else {
            return
        }
        throw CommandFailure(
            .usage, "\(DisplayText.quoted(path)) is both input and output", hints: ["tresor … {-C} -o FILE"], file: path
        )
    }

    /// Refuses a target that is a link, a device, a pipe or a directory, or a file that may not be replaced.
    func check() throws(CommandFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            // Said before anything is read, and not when everything is written.
            if errno == ENAMETOOLONG { throw cannotWrite(SystemError(ENAMETOOLONG)) }
            return
        }
        let name = DisplayText.quoted(path)
        guard status.isKind(S_IFREG) else {
            throw CommandFailure(
                .failed(.other), "\(name) is not a regular file and is not replaced", hints: hints(around: status),
                file: path)
        }
        guard replaces else {
            throw CommandFailure(.usage, "\(name) exists already and is not replaced", file: path)
        }
    }

    /// Does what ``check()`` does before anything is read, and names the option that replaces a file.
    func checkFirst() throws(CommandFailure) {
        do throws(CommandFailure) {
            try check()
        } catch {
            guard error.error == .usage else { throw error }
            throw CommandFailure(error.error, error.message, hints: ["tresor … --force"], file: error.file)
        }
    }

    /// Finds out, and leaves nothing, whether the file can be written here with the access that it will have.
    func rehearse() throws(CommandFailure) {
        try giveAccess(to: try opened())
        restart()
    }

    private func hints(around status: stat) -> [String] {
        if case .asBefore = access {
            guard status.isKind(S_IFLNK), let target = FileIdentity.resolved(path) else { return [] }
            return [HintCompletion.replacing(path, with: target)]
        }
        let isStream = status.isKind(S_IFCHR) || status.isKind(S_IFIFO) || status.isKind(S_IFLNK)
        guard isStream, let hint = elsewhere("-") else { return [] }
        // A device is named, and may be /dev/null: standard output is another place.
        return [status.isKind(S_IFCHR) ? "\(hint) >\(Shell.path(path))" : hint]
    }

    private func cannotWrite(_ error: SystemError) -> CommandFailure {
        .cannotWrite(path, error, hints: elsewhere("FILE").map { [$0] } ?? [])
    }

    func write(_ bytes: Span<UInt8>) throws(CommandFailure) {
        let draft = try opened()
        do throws(SystemError) {
            try SystemCall.write(bytes.bytes, to: draft.descriptor)
        } catch {
            throw cannotWrite(error)
        }
    }

    /// Discards the written bytes.
    func restart() {
        draft?.discard()
        draft = nil
    }

    /// Makes the file durable and puts it in its place; an output of no bytes is an empty file.
    func commit() throws(CommandFailure) {
        let draft = try opened()
        try check()
        try giveAccess(to: draft)
        self.draft = nil
        do throws(SystemError) {
            try draft.commit(replacing: replaces)
        } catch {
            if error.number == EEXIST { try check() }
            throw cannotWrite(error)
        }
    }

    /// Gives the file at the end what it was not opened with.
    private func giveAccess(to draft: Draft) throws(CommandFailure) {
        switch access {
        case .owner: return
        case .everybody:
            // A file system without modes has said by its mount who may read it.
            guard fchmod(draft.descriptor, 0o666 & ~Hardening.creationMask) == 0 || errno == EPERM else {
                throw cannotWrite(.current)
            }
        case .asBefore(let input):
            try input.checkUnchanged()
            let losses: [FileAttributes.Loss]
            let attributes = try input.attributes()
            do throws(SystemError) {
                losses = try attributes.give(to: draft.descriptor)
            } catch {
                throw cannotWrite(error)
            }
            guard losses.isEmpty else { throw AttributeLoss.failure(losses, path) }
        }
    }

    private func opened() throws(CommandFailure) -> Draft {
        if let draft { return draft }
        try check()
        do throws(SystemError) {
            let draft = try Draft.open(for: path)
            self.draft = draft
            return draft
        } catch {
            throw cannotWrite(error)
        }
    }
}
