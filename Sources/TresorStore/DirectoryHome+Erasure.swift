// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
package import TresorCore
package import TresorCrypto

extension DirectoryHome {
    /// Reads the sealed outboxes of all tresors, whether or not the home knows these. One without a byte has no change.
    package func outboxes() throws(TresorError) -> [TresorID: [UInt8]] {
        var outboxes: [TresorID: [UInt8]] = [:]
        for object in try objects(in: .records) {
            guard case .outbox(let tresor) = object.kind else { continue }
            if let bytes = try read(object), !bytes.isEmpty { outboxes[tresor] = bytes }
        }
        return outboxes
    }

    /// Whether somebody has used this as a home: one that was used has a lock.
    package func hasLock() -> Bool {
        var status = stat()
        return lstat("\(data)/lock", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The path of a folder of the home that is a symbolic link: what is behind it is not the home's. `nil` without one.
    package func linkedFolder() -> String? {
        for directory in Self.folders {
            var status = stat()
            let path = "\(data)/\(directory)"
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK { return path }
        }
        return nil
    }

    /// The path of a folder with the name of a file of the home, which no erasure deletes; `nil` without one.
    package func folderForFile() -> String? {
        for object in Self.before + [.identity] + Self.behind {
            var status = stat()
            let path = path(of: object)
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return path }
        }
        return nil
    }

    /// Whether the home has any object.
    package func isEmpty() throws(TresorError) -> Bool {
        var status = stat()
        for object in Self.before + [.identity] + Self.behind where lstat(path(of: object), &status) == 0 {
            return false
        }
        for directory in Self.folders where try !objects(in: directory).isEmpty { return false }
        return true
    }

    /// Deletes all objects of the home, in an order in which a home that is left between two steps misleads nobody
    /// (SPEC §8.9). May be repeated, and then goes on. The two empty files of the locks stay, and what is no object.
    ///
    /// - Parameters:
    ///   - identity: the identity file that was judged; `nil` if there was none.
    ///   - outboxes: the outboxes that were judged.
    /// - Throws: ``TresorError/busy`` if these have changed since, and ``TresorError/failed(_:)`` with `permissions` for a
    ///   folder that is a symbolic link; then nothing is deleted.
    package func erase(_ identity: [UInt8]?, _ outboxes: [TresorID: [UInt8]]) throws(TresorError) {
        try exclusively { () throws(TresorError) in
            guard linkedFolder() == nil else { throw .failed(.permissions) }
            guard try read(.identity) == identity, try self.outboxes() == outboxes else { throw .busy }
            try empty(.records)
            try empty(.logs)
            for object in Self.before { try delete(object) }
            try delete(.identity)
            try empty(.evidence)
            for object in Self.behind { try delete(object) }
            rmdir(state)
        }
    }

    private static let folders: [Directory] = [.records, .logs, .evidence]
    /// The objects that go before the identity. The pins are the last of them: a person who begins in a home that is left
    /// without an identity has verified nobody.
    private static let before: [HomeObject] = [.names, .marks, .wraps, .deviceShare, .cleanupJournal, .pins]
    /// The objects by which a home judges a store: they go behind the identity, for whom they judge.
    private static let behind: [HomeObject] = [.heads, .notedStores, .knownServices, .knownLogins]

    /// Deletes the objects of a directory, durably: the outboxes first, then the indexes, then the last pieces before the
    /// ones before them. Leaves what is no file.
    private func empty(_ directory: Directory) throws(TresorError) {
        guard let opened = try open(directory, creating: false) else { return }
        for object in try objects(in: directory).sorted(by: Self.goesBefore)
        where unlinkat(opened.number, place(of: object).name, 0) != 0 {
            let error = SystemError.current
            let isLeft = error.number == ENOENT || Self.isDirectory(place(of: object).name, in: opened.number)
            guard isLeft else { throw .failed(error.fault) }
        }
        try SystemError.asFailed { () throws(SystemError) in try opened.synchronize() }
        rmdir("\(data)/\(directory)")
    }

    private static func isDirectory(_ name: String, in directory: Int32) -> Bool {
        var status = stat()
        return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func goesBefore(_ left: HomeObject, _ right: HomeObject) -> Bool {
        func rank(_ object: HomeObject) -> (Int, Int) {
            switch object.kind {
            case .outbox: (0, 0)
            case .recordIndex: (1, 0)
            default: (2, -object.name.utf8.count)
            }
        }
        return rank(left) == rank(right) ? left.name > right.name : rank(left) < rank(right)
    }

    /// The objects of a directory. A file with another name is somebody else's.
    private func objects(in directory: Directory) throws(TresorError) -> [HomeObject] {
        guard let opened = try open(directory, creating: false) else { return [] }
        let names = try SystemError.asFailed { () throws(SystemError) in try opened.names() }
        return names.compactMap { HomeObject(named: "\(directory)/\($0)") }
    }
}
