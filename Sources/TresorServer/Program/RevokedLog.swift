// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import Synchronization
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorSQLite
    import TresorStore

    /// The file in which a service writes down what is revoked. It lies outside of the database, so that a restore of
    /// the database does not take it back (SPEC §18.7).
    ///
    /// It begins with a mark, the id of the service and a check that depends on it, 64 bytes, so that no other file is
    /// taken for it. Records of one size follow, each with such a check. A record is on the disk before the next one is
    /// begun, so only the last one can be torn: bytes of it are missing, or a sector that never came onto the disk is
    /// zero in it. Anything else that fails its check was changed. Several processes may append to one file.
    final class RevokedLog: RevocationLog {
        /// The first bytes of the file.
        private static let mark = Array("tresor-revoked 1".utf8)
        /// The size of a check.
        static let checkByteCount = 16
        /// The size of the beginning of the file.
        static let beginningByteCount = mark.count + Hash256.byteCount + checkByteCount
        /// The size of a record with its check.
        static let recordByteCount = Revocation.byteCount + checkByteCount
        /// The size of what a disk writes whole or not at all.
        private static let sectorByteCount = 512
        /// The number of records that are read at once.
        private static let pageCount = 1_024

        private let file: FileDescriptor
        private let path: String
        /// The id of the service.
        private let server: Hash256
        private let turn = Mutex(())
        private let wasShared = Atomic(false)
        private let isWritten = Atomic(false)
        private let damage = Atomic(false)

        /// True if a record that this process wrote may stand there. The next start acts by it, whatever came of the
        /// transaction.
        var hasWritten: Bool { isWritten.load(ordering: .sequentiallyConsistent) }

        /// True if another process used the file when this one opened it.
        var isShared: Bool { wasShared.load(ordering: .sequentiallyConsistent) }

        /// True if the file was damaged when somebody last looked whether a record can follow.
        var isDamaged: Bool { damage.load(ordering: .sequentiallyConsistent) }
        /// The way out for a file that is damaged.
        static let wayOut = "stop the service, put the newest whole copy in its place, and start the service again"

        init(_ file: consuming FileDescriptor, at path: String, of server: Hash256) {
            self.file = file
            self.path = path
            self.server = server
        }

        /// Opens a file.
        ///
        /// - Parameter creating: whether to make a missing one.
        /// - Throws: ``TresorError/notFound`` for a missing one that is not made; ``TresorError/forked`` for one of another
        ///   service; ``TresorError/altered`` for one of another kind; ``TresorError/failed(_:)`` and
        ///   ``TresorError/store(_:)``.
        static func open(at path: String, of server: Hash256, creating: Bool) throws(TresorError) -> RevokedLog {
            for _ in 0..<8 {
                let log = try opened(at: path, of: server, creating: creating)
                log.wasShared.store(!UseLock.takeAlone(log.file.number), ordering: .sequentiallyConsistent)
                UseLock.share(log.file.number)
                // Another process may have put a newer file in its place before it was known to be used.
                if log.isInPlace { return log }
            }
            throw .failed(.notNoted)
        }

        private static func opened(
            at path: String, of server: Hash256, creating: Bool
        ) throws(TresorError) -> RevokedLog {
            let beginning = try beginning(of: server)
            let isThere = try SystemError.asFailed { () throws(SystemError) in
                try FileDescriptor.existing(path, O_RDONLY | O_NOCTTY) != nil
            }
            if !isThere {
                guard creating else { throw .notFound }
                let made = try AtomicFile(at: path, mode: 0o600)
                try made.write(beginning.span)
                // Another process may have been first.
                _ = try made.commit(replacing: false)
            }
            let file = try SystemError.asFailed { () throws(SystemError) in
                try FileDescriptor(path, O_RDWR | O_APPEND | O_NOCTTY)
            }
            let log = RevokedLog(file, at: path, of: server)
            let size = try SystemError.asFailed { () throws(SystemError) in try log.file.status().st_size }
            guard size >= beginningByteCount else { throw .altered }
            let found = try log.page(at: 0, count: beginningByteCount)
            guard found != beginning else { return log }
            // One that is whole, and names another service, is that service's.
            let other = Hash256(Array(found[mark.count...].prefix(Hash256.byteCount)))
            guard let other, try Self.beginning(of: other) == found else { throw .altered }
            throw .forked
        }

        func checkPlace() throws(TresorError) {
            guard isInPlace else { throw .failed(.notNoted) }
            guard !StoreFile.isDiskFull(at: path) else { throw .store(.full) }
            do throws(SystemError) {
                try inTurn { (end) throws(SystemError) in try checkLast(before: end) }
            } catch {
                throw .failed(.notNoted)
            }
        }

        /// Refuses a file whose last record was changed: no start reads what stands behind it.
        private func checkLast(before end: off_t) throws(SystemError) {
            if let last = try last(before: end), !last.isWhole { throw damaged() }
            damage.store(false, ordering: .sequentiallyConsistent)
        }

        /// Says once that the file is damaged.
        private func damaged() -> SystemError {
            if !damage.exchange(true, ordering: .sequentiallyConsistent) {
                StoredService.report(
                    .revocationsDamaged, .error,
                    reason: "\(path) is damaged at its end, so nothing can be revoked: \(Self.wayOut)")
            }
            return SystemError(EIO)
        }

        /// Whether its path still leads to the file that is open. What is written into one that was moved or removed is
        /// found by no later start.
        private var isInPlace: Bool {
            let open = FileIdentity(descriptor: file.number)
            return open != nil && open == FileIdentity(path: path)
        }

        func append(_ revocation: Revocation) throws(TresorError) {
            let record = try record(of: revocation)
            do throws(SystemError) {
                try inTurn { (end) throws(SystemError) in
                    guard isInPlace else { throw SystemError(ESTALE) }
                    try checkLast(before: end)
                    do throws(SystemError) {
                        try file.write(record.span.bytes)
                        isWritten.store(true, ordering: .sequentiallyConsistent)
                        try file.synchronize()
                    } catch {
                        // Nothing of it stays, if the disk lets it go. Otherwise the next one cuts it.
                        _ = ftruncate(file.number, end)
                        throw error
                    }
                }
            } catch {
                throw error.fault == .full ? .store(.full) : .failed(.notNoted)
            }
        }

        /// Reads all records that are there, some at a time. A torn one is cut off the end first.
        ///
        /// - Throws: ``TresorError/altered`` for what is no record of this service, and is not torn;
        ///   ``TresorError/unsupported`` for a record that a newer release wrote; ``TresorError/store(_:)`` for a file that
        ///   cannot be read; the errors of `take`.
        func read(_ take: ([Revocation]) async throws(TresorError) -> Void) async throws(TresorError) {
            let end: Int
            do throws(SystemError) {
                end = Int(try inTurn { (end) throws(SystemError) in end })
            } catch {
                throw .store(error.fault)
            }
            var offset = Self.beginningByteCount
            while offset < end {
                try await take(try records(at: offset, before: end))
                offset += Self.pageCount * Self.recordByteCount
            }
        }

        /// Looks whether a record stands there.
        ///
        /// - Throws: the errors of ``read(_:)``.
        func contains(_ revocation: Revocation) async throws(TresorError) -> Bool {
            var isThere = false
            try await read { (page) throws(TresorError) in isThere = isThere || page.contains(revocation) }
            return isThere
        }

        /// Reads a page of records.
        private func records(at offset: Int, before end: Int) throws(TresorError) -> [Revocation] {
            let bytes = try page(at: offset, count: min(Self.pageCount * Self.recordByteCount, end - offset))
            return try stride(from: 0, to: bytes.count, by: Self.recordByteCount).map { (start) throws(TresorError) in
                try self.revocation(bytes[start..<start + Self.recordByteCount])
            }
        }

        /// Runs a body while no other process and no other thread is at the file, which ends with a record that is not torn:
        /// a torn one is cut here alone, so that nothing is cut that another process wrote behind it.
        private func inTurn<Value: Sendable>(
            _ body: (_ end: off_t) throws(SystemError) -> Value
        ) throws(SystemError) -> Value {
            try turn.withLock { (_) throws(SystemError) in
                _ = try SystemError.retrying { flock(file.number, LOCK_EX) }
                defer { _ = flock(file.number, LOCK_UN) }
                let size = try file.status().st_size
                let (first, count) = (off_t(Self.beginningByteCount), off_t(Self.recordByteCount))
                guard size >= first else { throw damaged() }
                var end = size - (size - first) % count
                let former = try last(before: end)
                // The size of a record may be there before its bytes are. A part of one is torn behind a whole one alone.
                let isTorn = end == size ? former?.isTorn ?? false : former?.isWhole ?? true
                if isTorn {
                    if end == size { end -= count }
                    _ = try SystemError.retrying { ftruncate(file.number, end) }
                    try file.synchronize()
                    sayCut()
                }
                return try body(end)
            }
        }

        /// Says at once that a record was cut off. Nobody could tell it later.
        private func sayCut() {
            StoredService.report(
                .revocationTorn, .warning,
                reason: "\(path) ended with a part of a record, which was cut off: a process or the machine ended "
                    + "before the revocation was acknowledged; if the file was shortened instead, \(Self.wayOut)")
        }

        /// Looks at the last record of a file that ends with a record; `nil` if there is none.
        private func last(before end: off_t) throws(SystemError) -> (isWhole: Bool, isTorn: Bool)? {
            guard end > off_t(Self.beginningByteCount) else { return nil }
            let offset = Int(end) - Self.recordByteCount
            do throws(TresorError) {
                let record = try page(at: offset, count: Self.recordByteCount)
                let isWhole = try isWhole(record[...])
                return (isWhole, !isWhole && Self.lacksSector(record, at: offset))
            } catch {
                throw SystemError(EIO)
            }
        }

        /// Whether a sector of the disk has nothing of a record that lies there. A file system shows such a one as zeros.
        private static func lacksSector(_ record: [UInt8], at offset: Int) -> Bool {
            let second = min(sectorByteCount - offset % sectorByteCount, record.count)
            return [record[..<second], record[second...]].contains { !$0.isEmpty && $0.allSatisfy { $0 == 0 } }
        }

        private func page(at offset: Int, count: Int) throws(TresorError) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            var memory = bytes.mutableSpan
            do throws(SystemError) {
                try memory.withUnsafeMutableBytes { (memory) throws(SystemError) in
                    var filled = 0
                    while filled < count {
                        let read = try SystemCall.read(
                            file.number, at: off_t(offset + filled),
                            into: UnsafeMutableRawBufferPointer(rebasing: memory[filled...]))
                        guard read > 0 else { throw SystemError(EIO) }
                        filled += read
                    }
                }
            } catch {
                throw .store(error.fault)
            }
            return bytes
        }

        private func record(of revocation: Revocation) throws(TresorError) -> [UInt8] {
            let bytes = revocation.bytes
            return try bytes + Self.check(of: bytes, by: server)
        }

        /// - Throws: ``TresorError/altered`` for what is no record of this service; ``TresorError/unsupported`` for a whole
        ///   one that this release cannot read: it is not torn, and cutting it would lose it.
        private func revocation(_ record: ArraySlice<UInt8>) throws(TresorError) -> Revocation {
            guard try isWhole(record) else { throw .altered }
            do throws(TresorError) {
                return try Revocation(Array(record.prefix(Revocation.byteCount)))
            } catch {
                throw .unsupported
            }
        }

        /// Whether a record has its check.
        private func isWhole(_ record: ArraySlice<UInt8>) throws(TresorError) -> Bool {
            let bytes = Array(record.prefix(Revocation.byteCount))
            return try Self.check(of: bytes, by: server) == Array(record.dropFirst(Revocation.byteCount))
        }

        private static func beginning(of server: Hash256) throws(TresorError) -> [UInt8] {
            let named = mark + server.bytes
            return try named + check(of: named, by: server)
        }

        private static func check(of bytes: [UInt8], by server: Hash256) throws(TresorError) -> [UInt8] {
            let key = server.bytes
            var hash = try BLAKE2b(outputCount: checkByteCount, key: key.span)
            try hash.update(bytes.span)
            return try hash.finalize()
        }
    }

    /// Dropping what is superseded.
    extension RevokedLog {
        /// Takes those revocations out of a file that later ones have made needless, so that it does not grow with each
        /// session that ends and each new card. A new file takes the place of the old one, whole or not at all.
        ///
        /// Nothing depends on it: the file stays as it is where this fails, while another process uses it, and if it is a
        /// link or belongs to somebody else.
        static func dropSuperseded(at path: String, of server: Hash256) {
            // A process that was killed while it wrote a new file left that behind.
            AtomicFile.sweep(besides: path)
            var status = stat()
            guard lstat(path, &status) == 0, status.isKind(S_IFREG), status.st_uid == geteuid(),
                let log = try? opened(at: path, of: server, creating: false), UseLock.takeAlone(log.file.number)
            else { return }
            _ = try? log.inTurn { (end) throws(SystemError) in try? log.rewrite(upTo: Int(end)) }
        }

        private func rewrite(upTo end: Int) throws(TresorError) {
            var superseded = SupersededRevocations()
            var place = 0
            for offset in Self.pages(upTo: end) {
                for record in try records(at: offset, before: end) {
                    superseded.note(record, at: place)
                    place += 1
                }
            }
            guard superseded.count > 0, isInPlace else { return }
            let file = try AtomicFile(at: path, mode: 0o600)
            let beginning = try Self.beginning(of: server)
            try file.write(beginning.span)
            place = 0
            for offset in Self.pages(upTo: end) {
                for record in try records(at: offset, before: end) {
                    if !superseded.contains(record, at: place) {
                        let bytes = try self.record(of: record)
                        try file.write(bytes.span)
                    }
                    place += 1
                }
            }
            _ = try file.commit(replacing: true)
        }

        /// The places in the file where pages of records begin.
        private static func pages(upTo end: Int) -> StrideTo<Int> {
            stride(from: beginningByteCount, to: end, by: pageCount * recordByteCount)
        }
    }
#endif
