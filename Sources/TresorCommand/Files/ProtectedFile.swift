// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The kinds of files that an output never replaces, in any place and of any owner.
enum ProtectedFile: String {
    case identity = "an identity"
    case card = "a card"
    case kit = "a recovery kit"

    /// By its first bytes, and all of a text that begins as a recovery kit does; `nil` for any other file.
    init?(at path: String) {
        // To open a pipe would wake the program that writes to it.
        guard FileIdentity.isFile(path: path), let file = try? FileDescriptor(path, O_RDONLY | O_NOCTTY | O_NONBLOCK),
            FileIdentity.isFile(descriptor: file.number)
        else { return nil }
        var start = [UInt8](repeating: 0, count: 32)
        guard let count = start.withUnsafeMutableBytes({ try? SystemCall.read(file.number, into: $0) }) else {
            return nil
        }
        switch start[..<count] {
        case let bytes where bytes.starts(with: "tresorI1".utf8): self = .identity
        case let bytes where bytes.starts(with: "tresorC1".utf8): self = .card
        case let bytes where bytes.starts(with: "-----BEGIN TRESOR CARD-----".utf8): self = .card
        case let bytes where RecoveryKit.mayBegin(with: bytes) && Self.isKit(file.number): self = .kit
        default: return nil
        }
    }

    /// Whether a file holds the words of a recovery kit. It takes secret memory.
    private static func isKit(_ descriptor: Int32) -> Bool {
        guard lseek(descriptor, 0, SEEK_SET) == 0,
            let content = try? SecretInput.readAll(descriptor, limit: RecoveryKit.maximumByteCount, what: "")
        else { return false }
        return (try? RecoveryKit(typed: content)) != nil
    }
}
