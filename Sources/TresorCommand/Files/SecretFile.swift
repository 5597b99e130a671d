// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file that nobody else may read: a password, a kit. Pipes and terminals named by a path are exempt.
final class SecretFile {
    let path: String
    private let descriptor: Int32

    /// - Throws: 10 when it is missing; 1 when others can read it or it belongs to somebody else, with the `chmod`.
    init(path: String) throws(CommandFailure) {
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw FileSystem.cannotOpen(path, errno) }
        do throws(CommandFailure) {
            try Self.check(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// The content, straight into secret memory.
    func read(limit: Int) throws(CommandFailure) -> SecretBytes {
        try SecretInput.readAll(descriptor, limit: limit, what: DisplayText.quoted(path))
    }

    /// The content of a file that is protected but not secret.
    func publicBytes(limit: Int) throws(CommandFailure) -> [UInt8] {
        let content = try read(limit: limit)
        let bytes = content.span
        return bytes.publicBytes
    }

    /// Whether a file holds the words of a recovery kit.
    static func isKit(_ path: String) -> Bool {
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.isKind(S_IFREG),
            let content = try? SecretInput.readAll(descriptor, limit: RecoveryKit.maximumByteCount, what: "")
        else { return false }
        return (try? RecoveryKit(typed: content)) != nil
    }

    private static func check(_ descriptor: Int32, _ path: String) throws(CommandFailure) {
        let name = DisplayText.quoted(path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileSystem.cannotOpen(path, errno) }
        guard !status.isKind(S_IFDIR) else {
            throw CommandFailure(.usage, "\(name) is a directory", file: path)
        }
        guard status.isKind(S_IFREG) else { return }
        guard status.st_uid == geteuid() else {
            throw CommandFailure(.failed(.permissions), "\(name) belongs to somebody else", file: path)
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CommandFailure(
                .failed(.permissions), "\(name) can be read or changed by others",
                hints: ["chmod 600 \(Shell.path(path))"], file: path)
        }
    }
}
