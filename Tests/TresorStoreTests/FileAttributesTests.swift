// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Cxattr
    import Foundation
    import Testing

    @testable import TresorStore

    /// The attributes that a file takes over from the one that it replaces.
    @Suite("Attributes of files")
    struct FileAttributesTests {
        private static let accessListName = "system.posix_acl_access"
        private static let directory = FileManager.default.temporaryDirectory

        /// Whether the file system of these tests has user attributes and access lists.
        private static let isCapable: Bool = {
            let path = directory.appending(path: "tresor-attributes-\(UUID())").path
            let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
            defer {
                close(file)
                unlink(path)
            }
            return set(file, "user.note", [1]) && set(file, accessListName, list(of: 65533))
        }()

        private static func set(_ file: Int32, _ name: String, _ value: [UInt8]) -> Bool {
            fsetxattr(file, name, value, value.count, 0) == 0
        }

        private static func value(_ file: Int32, _ name: String) -> [UInt8]? {
            var value = [UInt8](repeating: 0, count: 256)
            let count = fgetxattr(file, name, &value, value.count)
            return count < 0 ? nil : Array(value.prefix(count))
        }

        /// An access list by which one more user may read.
        private static func list(of user: UInt32) -> [UInt8] {
            let entries: [(tag: UInt16, rights: UInt16, id: UInt32)] = [
                (1, 6, .max), (2, 4, user), (4, 0, .max), (0x10, 4, .max), (0x20, 0, .max),
            ]
            func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
                withUnsafeBytes(of: value.littleEndian) { Array($0) }
            }
            return entries.reduce(bytes(UInt32(2))) { $0 + bytes($1.tag) + bytes($1.rights) + bytes($1.id) }
        }

        /// Two files of a directory of their own, the second made after a change of it.
        private func withFiles(
            _ change: (String) -> Void = { _ in }, _ body: (_ old: Int32, _ new: Int32) throws -> Void
        ) throws {
            let folder = Self.directory.appending(path: "tresor-attributes-\(UUID())").path
            try #require(mkdir(folder, 0o700) == 0)
            let old = open("\(folder)/old", O_RDWR | O_CREAT, 0o600)
            change(folder)
            let new = open("\(folder)/new", O_RDWR | O_CREAT, 0o600)
            defer {
                close(old)
                close(new)
                try? FileManager.default.removeItem(atPath: folder)
            }
            try #require(old >= 0 && new >= 0)
            try body(old, new)
        }

        @Test("Mode, user attributes and access list are given on", .enabled(if: isCapable))
        func given() throws {
            try withFiles { old, new in
                #expect(Self.set(old, "user.note", Array("from the registry".utf8)))
                #expect(Self.set(old, "user.empty", []))
                #expect(Self.set(old, Self.accessListName, Self.list(of: 65533)))
                #expect(fchmod(old, 0o640) == 0)
                let losses = try FileAttributes(of: old).give(to: new)
                #expect(losses.isEmpty)
                for name in ["user.note", "user.empty", Self.accessListName] {
                    #expect(Self.value(new, name) == Self.value(old, name), "\(name)")
                }
                let status = try SystemCall.status(of: new)
                #expect(status.st_mode & 0o7777 == 0o640)
            }
        }

        @Test("The access list that a directory gives to new files lets nobody in", .enabled(if: isCapable))
        func inherited() throws {
            let list = Self.list(of: 65533)
            try withFiles({ setxattr($0, "system.posix_acl_default", list, list.count, 0) }) { old, new in
                #expect(fchmod(old, 0o640) == 0)
                #expect(Self.value(new, Self.accessListName) != nil)
                let losses = try FileAttributes(of: old).give(to: new)
                #expect(losses.isEmpty)
                #expect(Self.value(new, Self.accessListName) == nil)
            }
        }

        /// A pipe has a mode, and no attributes.
        @Test("What cannot be given is named", .enabled(if: isCapable))
        func lost() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            defer { for end in ends { close(end) } }
            try withFiles { old, _ in
                #expect(Self.set(old, "user.note", [1]))
                #expect(Self.set(old, Self.accessListName, Self.list(of: 65533)))
                let losses = try FileAttributes(of: old).give(to: ends[1])
                #expect(losses == [.attribute("user.note"), .accessList])
            }
        }

        @Test("Root gives owner and group on", .enabled(if: geteuid() == 0, "only root gives files away"))
        func owned() throws {
            try withFiles { old, new in
                #expect(fchown(old, 65533, 65532) == 0)
                let losses = try FileAttributes(of: old).give(to: new)
                #expect(losses.isEmpty)
                let status = try SystemCall.status(of: new)
                #expect(status.st_uid == 65533 && status.st_gid == 65532)
            }
        }
    }
#endif
