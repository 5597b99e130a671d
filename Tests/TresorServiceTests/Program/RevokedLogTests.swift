// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore

    @testable import TresorServer
    @testable import TresorService

    /// The file in which a service writes down what is revoked.
    @Suite struct RevokedLogTests {
        private let directory: TestDirectory
        private let server = Hash256([UInt8](repeating: 7, count: 32)) ?? .zero
        private let records: [Revocation] = ((1...6) as ClosedRange<UInt8>).map { number in
            let hash = Hash256([UInt8](repeating: number, count: 32)) ?? .zero
            let user = UserID(hash)
            return switch number {
            case 1: .device(user, key: hash)
            case 2: .card(user, generation: .max, card: hash)
            case 3: .invitation(hash)
            case 4: .sessions(user, until: Era([UInt8](repeating: 4, count: Era.byteCount)) ?? .first)
            case 5: .account(user, handle: hash)
            default: .withdrawal(hash)
            }
        }

        init() throws { directory = try TestDirectory() }

        private var path: String { directory["server.key.revoked"] }

        private func open(of server: Hash256? = nil) throws -> RevokedLog {
            try RevokedLog.open(at: path, of: server ?? self.server, creating: true)
        }

        private func read(_ log: RevokedLog) async throws(TresorError) -> [Revocation] {
            var all: [Revocation] = []
            try await log.read { (page) throws(TresorError) in all += page }
            return all
        }

        private func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

        private func write(_ bytes: some Sequence<UInt8>) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }

        @Test func everyRecordHasOneSizeAndOneForm() throws {
            for record in try records + [removal(.max, 7), removal(5, 8, isOwn: true), .start(.max)] {
                #expect(record.bytes.count == Revocation.byteCount)
                #expect(try Revocation(record.bytes) == record)
                #expect(throws: TresorError.altered) { try Revocation(record.bytes + [0]) }
                #expect(throws: TresorError.altered) { try Revocation(Array(record.bytes.dropLast())) }
            }
            for kind in [0, 10, 255] as [UInt8] {
                #expect(throws: TresorError.altered) { try Revocation([kind] + records[0].bytes.dropFirst()) }
            }
            // A field that a kind does not need is zero.
            #expect(throws: TresorError.altered) { try Revocation([3] + records[0].bytes.dropFirst()) }
            #expect(throws: TresorError.altered) { try Revocation([4] + records[0].bytes.dropFirst()) }
        }

        @Test func A237_whatWasWrittenIsReadByTheNextProcess() async throws {
            #expect(throws: TresorError.notFound) {
                try RevokedLog.open(at: path, of: server, creating: false)
            }
            let log = try open()
            for record in records { try log.append(record) }
            #expect(try await read(try open()) == records)
            // Another process at the same file appends too.
            try open().append(records[0])
            try log.append(records[1])
            #expect(try await read(log) == records + records[0...1])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }

        @Test func A237_aTornRecordIsCut() async throws {
            let log = try open()
            for record in records { try log.append(record) }
            let whole = try bytes()
            for count in [1, RevokedLog.recordByteCount - 1] {
                try write(whole.dropLast(count))
                #expect(try await read(try open()) == records.dropLast())
                #expect(try bytes().count == whole.count - RevokedLog.recordByteCount)
                // The rest begins with a whole record.
                try open().append(records[5])
                #expect(try await read(try open()) == records)
            }
        }

        /// The size of a record may be there before its bytes are: a sector of the disk is then zero.
        @Test func A237_aRecordWhoseSectorIsMissingIsCut() async throws {
            let log = try open()
            for record in records { try log.append(record) }
            let whole = try bytes()
            let start = whole.count - RevokedLog.recordByteCount
            try #require(start < 512 && 512 < whole.count)
            func zero(_ range: Range<Int>) throws {
                var changed = whole
                for index in range { changed[index] = 0 }
                try write(changed)
            }
            for range in [start..<512, 512..<whole.count, start..<whole.count] {
                try zero(range)
                #expect(try await read(try open()) == Array(records.prefix(5)))
                #expect(try bytes() == Array(whole.prefix(start)))
            }
            // Less than a sector is no sector.
            for range in [start..<511, 513..<whole.count] {
                try zero(range)
                await #expect(throws: TresorError.altered) { try await read(try open()) }
                #expect(try bytes().count == whole.count)
            }
        }

        /// A last record of which no byte is missing was acknowledged, and was changed since.
        @Test func A237_aChangedLastRecordIsDamage() async throws {
            let log = try open()
            for record in records { try log.append(record) }
            let whole = try bytes()
            let start = whole.count - RevokedLog.recordByteCount
            let tails = [0, 1, RevokedLog.checkByteCount, RevokedLog.recordByteCount - 1]
            for (offset, tail) in [start, start + 40, whole.count - 1].flatMap({ offset in tails.map { (offset, $0) } })
            {
                var changed = whole
                changed[offset] ^= 1
                // A part of a record stands behind a whole one alone.
                changed += whole.suffix(tail)
                try write(changed)
                await #expect(throws: TresorError.altered) { try await read(try open()) }
                // Nothing is written where no start reads it.
                #expect(throws: TresorError.failed(.notNoted)) { try log.append(records[0]) }
                #expect(throws: TresorError.failed(.notNoted)) { try log.checkPlace() }
                RevokedLog.dropSuperseded(at: path, of: server)
                #expect(try bytes() == changed)
            }
        }

        /// Nothing is written into a file without its beginning, which no start reads.
        @Test func A237_anEmptiedFileTakesNoRecord() throws {
            let log = try open()
            #expect(truncate(path, 0) == 0)
            #expect(throws: TresorError.failed(.notNoted)) { try log.append(records[0]) }
            #expect(try bytes().isEmpty)
        }

        /// A command appends beside a service that reads the file.
        @Test func A237_whatIsWrittenBehindATornRecordStays() async throws {
            let log = try open()
            for record in records { try log.append(record) }
            let whole = try bytes()
            try write(whole.dropLast())
            // It reads nothing before.
            try open().append(records[0])
            #expect(try await read(try open()) == records.dropLast() + [records[0]])
            // It appends while more than a page is read.
            let record = whole.dropFirst(RevokedLog.beginningByteCount).prefix(RevokedLog.recordByteCount)
            let long = whole.prefix(RevokedLog.beginningByteCount) + (0..<1_030).flatMap { _ in record }
            try write(long.dropLast())
            let (reader, writer) = (try open(), try open())
            var count = 0
            try await reader.read { (page) throws(TresorError) in
                if count == 0 { try writer.append(records[1]) }
                count += page.count
            }
            #expect(count == 1_029)
            let all = try await read(try open())
            #expect(all.count == 1_030 && all.last == records[1])
        }

        /// A whole record is not torn. An older release cuts nothing that it cannot read.
        @Test func A237_aRecordOfANewerReleaseStays() async throws {
            try open().append(records[0])
            let newer: [UInt8] = [200] + records[0].bytes.dropFirst()
            let key = server.bytes
            var hash = try BLAKE2b(outputCount: RevokedLog.checkByteCount, key: key.span)
            try hash.update(newer.span)
            let record = newer + (try hash.finalize())
            let whole = try bytes() + record
            for file in [whole, whole + record] {
                try write(file)
                await #expect(throws: TresorError.unsupported) { try await read(try open()) }
                RevokedLog.dropSuperseded(at: path, of: server)
                #expect(try bytes() == file)
            }
            for opener in [RevokedLogOptions.Opener.run, .another] {
                #expect(opener.words(for: .unsupported).contains("a newer release wrote into it"))
            }
        }

        /// The ways out lose nothing for somebody who left out an option.
        @Test func A237_onlyTheServiceItselfBeginsWithoutItsFile() {
            let errors = [TresorError.notFound, .altered, .failed(.readOnly), .failed(.notNoted)]
            for error in errors {
                let words = RevokedLogOptions.Opener.another.words(for: error)
                #expect(words.contains("name the file that run uses") && !words.contains("--restored"))
            }
            for error in errors.prefix(2) {
                let words = RevokedLogOptions.Opener.run.words(for: error)
                #expect(words.contains("name it with --revoked-log if it lies elsewhere"))
                #expect(words.contains("--restored"))
            }
            for error in errors.suffix(2) {
                // Another file would be missing.
                #expect(!RevokedLogOptions.Opener.run.words(for: error).contains("--revoked-log"))
                let first = RevokedLogOptions.Opener.run.words(for: error, isMade: true)
                #expect(first.contains("or name another with --revoked-log"))
            }
        }

        @Test func A237_aLogKnowsWhatItHasAndWrote() async throws {
            let log = try open()
            #expect(!log.hasWritten)
            let unwritable = RevokedLog(try FileDescriptor(path, O_RDONLY), at: path, of: server)
            #expect(throws: TresorError.failed(.notNoted)) { try unwritable.append(records[0]) }
            #expect(!unwritable.hasWritten)
            try log.append(records[0])
            #expect(log.hasWritten)
            let other = try open()
            #expect(!other.hasWritten)
            let (has, lacks) = (try await other.contains(records[0]), try await other.contains(records[1]))
            #expect(has && !lacks)
        }

        @Test func aStartSweepsWhatAKilledOneLeft() throws {
            try open().append(records[0])
            let left = directory[AtomicFile.temporaryName()]
            try Data([1]).write(to: URL(fileURLWithPath: left))
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(!FileManager.default.fileExists(atPath: left))
            #expect(FileManager.default.fileExists(atPath: path))
        }

        /// Its directory and its owner are as they should be.
        @Test func A237_aRecordThatCannotBeReadIsSaidToBe() async throws {
            try open().append(records[0])
            let log = RevokedLog(try FileDescriptor(path, O_WRONLY | O_APPEND), at: path, of: server)
            await #expect(throws: TresorError.store(.inputOutput)) { try await read(log) }
            #expect(RevokedLogOptions.Opener.run.words(for: .store(.inputOutput)) == "input or output failed")
            // A request that would write behind it is refused as before.
            #expect(throws: TresorError.failed(.notNoted)) { try log.append(records[1]) }
        }

        @Test func A237_aDamagedFileIsRefused() async throws {
            let log = try open()
            for record in records { try log.append(record) }
            let whole = try bytes()
            let first = RevokedLog.beginningByteCount
            for offset in [0, 20, first - 1, first, first + 40, first + RevokedLog.recordByteCount - 1] {
                var changed = whole
                changed[offset] ^= 1
                try write(changed)
                await #expect(throws: TresorError.altered) { try await read(try open()) }
                #expect(try bytes() == changed)
            }
            // A file of another service, or of another kind, stays as it is.
            try write(whole)
            #expect(throws: TresorError.forked) { try open(of: .zero) }
            #expect(try bytes() == whole)
            for other in [[], whole.prefix(first - 1), [UInt8](repeating: 0, count: 200)[...]] as [ArraySlice<UInt8>] {
                try write(other)
                #expect(throws: TresorError.altered) { try open() }
                #expect(try bytes() == Array(other))
            }
        }

        /// A record in a file that nobody finds again would not survive a restore.
        @Test func A237_nothingIsWrittenIntoAFileThatWasMovedOrRemoved() async throws {
            let log = try open()
            try log.append(records[0])
            try log.checkPlace()
            let moved = directory["server.key.revoked.1"]
            try FileManager.default.moveItem(atPath: path, toPath: moved)
            #expect(throws: TresorError.failed(.notNoted)) { try log.append(records[1]) }
            #expect(throws: TresorError.failed(.notNoted)) { try log.checkPlace() }
            // Another file in its place is not it either.
            try FileManager.default.copyItem(atPath: moved, toPath: path)
            #expect(throws: TresorError.failed(.notNoted)) { try log.append(records[1]) }
            #expect(throws: TresorError.failed(.notNoted)) { try log.checkPlace() }
            #expect(try await read(try open()) == Array(records.prefix(1)))
            // The very file, put back, takes records again.
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: moved, toPath: path)
            try log.append(records[1])
            #expect(try await read(try open()) == Array(records.prefix(2)))
        }

        @Test func aLongFileIsReadInPages() async throws {
            let log = try open()
            try log.append(records[0])
            let one = try bytes()
            let record = one.dropFirst(RevokedLog.beginningByteCount)
            try write(one + (0..<2_999).flatMap { _ in record })
            var counts: [Int] = []
            try await log.read { (page) throws(TresorError) in counts.append(page.count) }
            #expect(counts == [1_024, 1_024, 952])
        }

        private func hash(_ number: UInt8) throws -> Hash256 {
            try #require(Hash256([UInt8](repeating: number, count: Hash256.byteCount)))
        }

        private func removal(_ sequence: UInt64, _ who: UInt8, isOwn: Bool = false) throws -> Revocation {
            let people = [UInt8](repeating: who, count: Removal.hashByteCount)
            return .removal(
                Removal(tresor: TresorID(try hash(10)), sequence: sequence, people: people, time: .max, isOwn: isOwn))
        }

        /// Eras that ended, and cards that others followed, do not stay for ever.
        @Test func A237_whatIsSupersededGoesAtAStart() async throws {
            try open().append(records[0])
            let one = try bytes()
            // More than a page of records comes before.
            let begun = (0..<1_030).map { _ in records[0] }
            try write(one + begun.dropFirst().flatMap { _ in one.dropFirst(RevokedLog.beginningByteCount) })
            let log = try open()
            for record in records { try log.append(record) }
            let (anna, bert) = (UserID(try hash(8)), UserID(try hash(9)))
            var era = Era.first
            var eras: [Era] = []
            for _ in 0..<20 {
                era = try era.next()
                eras.append(era)
            }
            for era in eras { try log.append(.sessions(anna, until: era)) }
            // Whatever their order is, the greatest of each person stays.
            try log.append(.sessions(bert, until: eras[9]))
            try log.append(.sessions(bert, until: eras[3]))
            for (generation, card) in [(2, 1), (3, 2), (3, 3), (1, 4)] as [(UInt32, UInt8)] {
                try log.append(.card(anna, generation: generation, card: try hash(card)))
            }
            // Of the removals from a tresor, the last one of the longest log.
            for (sequence, who) in [(4, 1), (6, 2), (6, 3), (2, 4)] as [(UInt64, UInt8)] {
                try log.append(try removal(sequence, who))
            }
            RevokedLog.dropSuperseded(at: path, of: server)
            // A process that uses the file keeps it.
            #expect(try await read(log).count == begun.count + records.count + 30)
            let kept =
                [
                    .sessions(anna, until: eras[19]), .sessions(bert, until: eras[9]),
                    .card(anna, generation: 3, card: try hash(3)), try removal(6, 3),
                ] as [Revocation]
            try copyAlone()
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(try await read(try open()) == begun + records + kept)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let short = try bytes()
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(try bytes() == short)
        }

        /// Puts a copy in the place of the file, which no process uses.
        private func copyAlone() throws {
            let copy = try bytes()
            try FileManager.default.removeItem(atPath: path)
            try write(copy)
        }

        @Test func A237_aDamagedOrForeignFileLosesNothing() async throws {
            let log = try open()
            let user = UserID(try hash(8))
            var era = Era.first
            for _ in 0..<3 {
                era = try era.next()
                try log.append(.sessions(user, until: era))
            }
            var changed = try bytes()
            changed[RevokedLog.beginningByteCount + 3] ^= 1
            let whole = try bytes()
            try copyAlone()
            try write(changed)
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(try bytes() == changed)
            try write(whole)
            RevokedLog.dropSuperseded(at: path, of: .zero)
            #expect(try bytes() == whole)
            // A link is not replaced.
            let target = directory["elsewhere"]
            try FileManager.default.moveItem(atPath: path, toPath: target)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(try bytes() == whole)
            try FileManager.default.removeItem(atPath: path)
            // None is made where none is.
            RevokedLog.dropSuperseded(at: path, of: server)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }
#endif
