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

    /// The store of a group: the hints are commands, whatever they say behind them.
    @Test func aStoreThatOthersOwnIsOpenedToItsGroup() throws {
        let path = folder.appendingPathComponent("store.db").path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: URL(fileURLWithPath: path))
        chmod(path, 0o640)
        let hints = CommandContext.notWritable(path).hints
        #expect(hints[0].hasPrefix("chmod g+w \(path) # as its owner, for a group that shares it"))
        #expect(hints[1].hasPrefix("chmod g+ws \(folder.path) # as its owner; then umask 002 for all"))
        let child = ChildProcess(
            arguments: ["-ec", hints.joined(separator: "\n")], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
        #expect(try child.run(program: "/bin/sh").code == 0)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
        #expect(stat(folder.path, &status) == 0 && status.st_mode & 0o7777 == 0o2720)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func anOwnerIsNamed() throws {
        let failure = try failure { chown($0, 65534, 65534) }
        #expect(failure.message.hasSuffix("belongs to nobody, and you are root"))
        #expect(failure.hints == ["sudo chown root \(folder.path)/identity"])
    }
}
