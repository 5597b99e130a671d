// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCommand

/// A home that others own or can change: the message says which of both it is, and the hint mends it.
@Suite struct HomeFaultTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-fault-\(UUID())")

    private func failure(_ prepare: (String) throws -> Void) throws -> CommandFailure {
        let path = folder.appendingPathComponent("identity").path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data([1]).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        try prepare(path)
        return HomeFault.failure(at: [folder.path, path])
    }

    @Test func aModeIsNamed() throws {
        let failure = try failure { chmod($0, 0o644) }
        #expect(failure.message.hasSuffix("identity\" can be read or changed by others"))
        #expect(failure.hints == ["chmod 600 \(folder.path)/identity"])
        let directory = try self.failure { _ in chmod(folder.path, 0o777) }
        #expect(directory.hints == ["chmod 700 \(folder.path)"])
    }

    @Test func aLinkIsNamedWithItsTarget() throws {
        let failure = try failure { path in
            try FileManager.default.moveItem(atPath: path, toPath: folder.path + "/real")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real")
        }
        #expect(failure.message.contains("is a link to \"\(folder.path)/real\""))
        #expect(failure.hints == ["mv \(folder.path)/real \(folder.path)/identity"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func anOwnerIsNamed() throws {
        let failure = try failure { chown($0, 65534, 65534) }
        #expect(failure.message.hasSuffix("belongs to nobody, and you are root"))
        #expect(failure.hints == ["sudo chown root \(folder.path)/identity"])
    }
}
