// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorStore

@testable import TresorCommand

/// A home that others own or can change: the message says which of both it is, and the hint mends it.
@Suite struct HomeFaultTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-fault-\(UUID())")

    private func failure(
        of object: HomeObject? = .identity, _ error: TresorError = .failed(.permissions),
        _ prepare: (String) throws -> Void
    ) throws -> CommandFailure {
        let path = folder.appendingPathComponent(object?.name ?? "lock").path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data([1]).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        try prepare(path)
        let home = DirectoryHome(data: folder.path, state: folder.path)
        return try #require(HomeFault.failure(for: error, of: object, in: home))
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

    /// No mode of a lock stops the home, and none of a medium that takes nothing.
    @Test func aModeThatStopsNothingIsNotBlamed() throws {
        let lock = try failure(of: nil, .failed(.readOnly)) { chmod($0, 0o644) }
        #expect(lock.message == "\"\(folder.path)\": not writable")
        let heads = try failure(of: .heads, .failed(.readOnly)) { chmod($0, 0o644) }
        #expect(heads.message == "\"\(folder.path)/heads\": not writable")
        let full = try failure(of: .heads, .failed(.full)) { chmod($0, 0o666) }
        #expect(full.message == "\"\(folder.path)/heads\": no space left")
        let open = try failure(of: .heads) { chmod($0, 0o664) }
        #expect(open.hints == ["chmod 600 \(folder.path)/heads"])
    }

    /// A call that worked came after the fault, so an error is about something else.
    @Test func aFaultIsForgottenByTheNextGoodCall() throws {
        let fault = LastHomeFault()
        let failure = CommandFailure(.failed(.readOnly), "named")
        fault.note(.failed(.readOnly), failure)
        #expect(fault.failure(for: .failed(.readOnly))?.message == "named")
        #expect(fault.failure(for: .failed(.full)) == nil)
        let unnoted = try #require(fault.failure(for: .failed(.notNoted)))
        #expect(unnoted.message.hasSuffix("look before you repeat it: named"))
        fault.forget()
        #expect(fault.failure(for: .failed(.readOnly)) == nil)
    }

    /// The store of a group: the hints are commands, whatever they say behind them.
    @Test func aStoreThatOthersOwnIsOpenedToItsGroup() throws {
        let path = folder.appendingPathComponent("store.db").path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: URL(fileURLWithPath: path))
        chmod(path, 0o640)
        let hints = StoreFault.notWritable(path).hints
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

    /// Files of root in somebody's home would be closed to them. The home's owner finds it without the option.
    @Test(.enabled(if: geteuid() == 0, "only root gives files away"), arguments: [true, false])
    func rootWorksInTheNameOfTheOwner(isNamed: Bool) throws {
        let surroundings = Surroundings()
        surroundings.words.given.withLock { $0 = (isNamed ? ["--home", folder.path] : []) + ["list"] }
        let failure = try Surroundings.$current.withValue(surroundings) { () throws -> CommandFailure in
            try self.failure { _ in chown(folder.path, 65534, 65534) }
        }
        #expect(failure.message.hasSuffix("belongs to nobody, and you are root"))
        #expect(failure.hints == ["sudo -u nobody tresor list" + (isNamed ? " --home \(folder.path)" : "")])
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func anOwnerWithoutANameHasANumber() throws {
        let surroundings = Surroundings()
        surroundings.words.given.withLock { $0 = ["list"] }
        let failure = try Surroundings.$current.withValue(surroundings) { () throws -> CommandFailure in
            try self.failure { _ in chown(folder.path, 65533, 65533) }
        }
        #expect(failure.hints == ["sudo -u '#65533' tresor list"])
    }

    /// A command that makes its home, and one that moves an identity aside, name whose home it is.
    @Test(
        .enabled(if: geteuid() == 0, "only root gives files away"),
        arguments: [
            "mkdir -m 700 other && chown 65534 other && TRESOR_STORE= TRESOR_HOME=$PWD/other tresor keygen zoe --no-kit --batch",
            "chown 65534 homes/anna && tresor keygen zoe --force --no-kit --batch",
        ])
    func rootIsToldWhoseHomeItIs(_ line: String) throws {
        let runner = try ScriptRunner(Script(name: "foreign", text: ""))
        try runner.run(Script(name: "foreign", text: "as anna").commands[...])
        let tresor = "tresor() { '\(ChildProcess.program)' \"$@\"; }"
        let child = ChildProcess(
            arguments: ["-c", "\(tresor)\n\(line) --password-file homes/anna.password"],
            environment: runner.environment, directory: runner.work.path)
        let ending = try child.run(program: "/bin/sh")
        #expect(ending.code == 1, "\(ending.errorText)")
        #expect(ending.errorText.contains("\" belongs to nobody, and you are root\n"), "\(ending.errorText)")
    }

    /// To open a store to its group helps nobody who is not in it.
    @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func aGroupOfOthersIsNamed() throws {
        let path = folder.appendingPathComponent("store.db").path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try #require(chown(folder.path, 65533, 65533) == 0)
        try Data().write(to: URL(fileURLWithPath: path))
        let failure = StoreFault.notWritable(path) { _ in EACCES }
        #expect(failure.hints.isEmpty && failure.message.hasSuffix(": it is for the group 65533, which you are not in"))
        // A folder that everybody may write stands in nobody's way.
        #expect(StoreFault.notWritable(path) { $0 == path ? EACCES : 0 }.hints.count == 2)
        let medium = StoreFault.notWritable(path) { _ in EROFS }
        #expect(medium.hints.isEmpty && medium.message.hasSuffix(": its file system is mounted read-only"))
    }
}
