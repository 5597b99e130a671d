// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file that keeps a secret: a password, a kit. Pipes and terminals named by a path are exempt.
final class SecretFile {
    let path: String
    private let file: FileDescriptor

    /// - Parameter hints: the ways without this file, for one whose mode cannot be changed: in a container it may lie on
    ///   a file system that is mounted to be read.
    /// - Throws: 10 when it is missing; 1 when others can read it or it belongs to another user, with the `chmod`.
    init(path: String, otherwise hints: [String] = []) throws(CommandFailure) {
        self.path = path
        do throws(SystemError) {
            file = try FileDescriptor(path, O_RDONLY | O_NOCTTY)
        } catch {
            throw .cannotOpen(path, error)
        }
        try check(otherwise: hints)
    }

    /// The content, straight into secret memory.
    func read(limit: Int) throws(CommandFailure) -> SecretBytes {
        try SecretInput.readAll(file.number, limit: limit, what: DisplayText.quoted(path))
    }

    /// The content of a file that is protected but not secret.
    func publicBytes(limit: Int) throws(CommandFailure) -> [UInt8] {
        let content = try read(limit: limit)
        let bytes = content.span
        return bytes.publicBytes
    }

    private func check(otherwise hints: [String]) throws(CommandFailure) {
        let name = DisplayText.quoted(path)
        let status: stat
        do throws(SystemError) { status = try file.status() } catch { throw .cannotOpen(path, error) }
        guard !status.isKind(S_IFDIR) else {
            throw CommandFailure(.usage, "\(name) is a directory", file: path)
        }
        guard status.isKind(S_IFREG) else { return }
        guard !status.keepsSecret else { return }
        guard status.st_uid == geteuid() else {
            throw CommandFailure(
                .failed(.permissions), "\(name) belongs to \(SystemName.of(user: status.st_uid))", hints: hints,
                file: path)
        }
        let mend = isReadOnly ? [] : ["chmod 600 \(Shell.path(path))"]
        throw CommandFailure(
            .failed(.permissions), "\(name) can be read or changed by others", hints: mend + hints, file: path)
    }

    private var isReadOnly: Bool {
        var system = statvfs()
        return fstatvfs(file.number, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    }
}
