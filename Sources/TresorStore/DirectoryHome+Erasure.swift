// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
package import TresorCore
package import TresorCrypto

extension DirectoryHome {
    /// Reads the sealed outboxes of all tresors, whether or not the home knows these.
    package func outboxes() throws(TresorError) -> [TresorID: [UInt8]] {
        var outboxes: [TresorID: [UInt8]] = [:]
        for name in try names(in: .records) {
            guard let tresor = Self.tresor(ofOutbox: name) else { continue }
            outboxes[tresor] = try read(.outbox(tresor))
        }
        return outboxes
    }

    /// Whether the home has any object.
    package func isEmpty() throws(TresorError) -> Bool {
        var status = stat()
        for object in Self.before + [.identity] + Self.behind where lstat(path(of: object), &status) == 0 {
            return false
        }
        for directory in [Directory.records, .logs, .evidence] where try !names(in: directory).isEmpty { return false }
        return true
    }

    /// Deletes all objects of the home, in an order in which a home that is left between two steps misleads nobody
    /// (SPEC §8.9). May be repeated, and then goes on. The two empty files of the locks stay.
    ///
    /// - Parameters:
    ///   - identity: the identity file that was judged; `nil` if there was none.
    ///   - outboxes: the outboxes that were judged.
    /// - Throws: ``TresorError/busy`` if these have changed since; then nothing is deleted.
    package func erase(_ identity: [UInt8]?, _ outboxes: [TresorID: [UInt8]]) throws(TresorError) {
        try exclusively { () throws(TresorError) in
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

    /// The objects that go before the identity.
    private static let before: [HomeObject] = [.names, .marks, .wraps, .deviceShare, .cleanupJournal]
    /// The objects by which a home judges a store and people: they go behind the identity, for whom they judge.
    private static let behind: [HomeObject] = [.pins, .heads, .notedStores, .knownServices, .knownLogins]

    /// Deletes the files of a directory, durably: the outboxes first, then the indexes, then the last pieces before the
    /// ones before them. Leaves what is no file.
    private func empty(_ directory: Directory) throws(TresorError) {
        guard let opened = try open(directory, creating: false) else { return }
        for name in try names(in: directory).sorted(by: Self.goesBefore) where unlinkat(opened.number, name, 0) != 0 {
            let error = SystemError.current
            guard [ENOENT, EISDIR, EPERM].contains(error.number) else { throw .failed(error.fault) }
        }
        try SystemError.asFailed { () throws(SystemError) in try opened.synchronize() }
        rmdir("\(data)/\(directory)")
    }

    private static func goesBefore(_ left: String, _ right: String) -> Bool {
        func rank(_ name: String) -> (Int, Int) {
            (tresor(ofOutbox: name) != nil ? 0 : name.hasSuffix(".index") ? 1 : 2, -name.utf8.count)
        }
        return rank(left) == rank(right) ? left > right : rank(left) < rank(right)
    }

    private func names(in directory: Directory) throws(TresorError) -> [String] {
        guard let opened = try open(directory, creating: false) else { return [] }
        let names = try SystemError.asFailed { () throws(SystemError) in try opened.names() }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// The tresor whose outbox a file of the records is; `nil` for any other file.
    private static func tresor(ofOutbox name: String) -> TresorID? {
        let suffix = ".unsent"
        guard name.utf8.count == 64 + suffix.utf8.count, name.hasSuffix(suffix) else { return nil }
        let digits = Array(name.utf8.prefix(64))
        let bytes = stride(from: 0, to: 64, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
        }
        guard let hash = Hash256(bytes) else { return nil }
        let tresor = TresorID(hash)
        return HomeObject.outbox(tresor).name == "records/\(name)" ? tresor : nil
    }
}
