// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The mode of a written file.
enum FileAccess: Sendable {
    /// 0600: decrypted content, kits, identities.
    case owner
    /// By umask: sealed files and cards.
    case everybody
    /// The mode of the file that is replaced.
    case asBefore(mode_t)
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
    private var draft: Draft?

    /// - Parameters:
    ///   - path: where the file will be.
    ///   - replaces: whether an existing file may be replaced.
    init(path: String, access: FileAccess, replaces: Bool = true) {
        self.path = path
        self.access = access
        self.replaces = replaces
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
        guard lstat(path, &status) == 0 else { return }
        let name = DisplayText.quoted(path)
        guard status.isKind(S_IFREG) else {
            let isStream = status.isKind(S_IFCHR) || status.isKind(S_IFIFO) || status.isKind(S_IFLNK)
            throw CommandFailure(
                .failed(.other), "\(name) is not a regular file and is not replaced",
                hints: isStream ? ["tresor … -o -"] : [], file: path)
        }
        guard replaces else {
            throw CommandFailure(.usage, "\(name) exists already and is not replaced", file: path)
        }
    }

    func write(_ bytes: Span<UInt8>) throws(CommandFailure) {
        let draft = try opened()
        do throws(SystemError) {
            try SystemCall.write(bytes.bytes, to: draft.descriptor)
        } catch {
            throw .cannotWrite(path, error)
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
        guard mode.map({ fchmod(draft.descriptor, $0) == 0 }) ?? true else { throw .cannotWrite(path, .current) }
        self.draft = nil
        do throws(SystemError) {
            try draft.commit(replacing: replaces)
        } catch {
            if error.number == EEXIST { try check() }
            throw .cannotWrite(path, error)
        }
    }

    /// The mode it gets at the end, if not the one it was opened with.
    private var mode: mode_t? {
        switch access {
        case .owner: nil
        case .everybody: 0o666 & ~Hardening.creationMask
        case .asBefore(let mode): mode & 0o777
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
            throw .cannotWrite(path, error)
        }
    }
}
