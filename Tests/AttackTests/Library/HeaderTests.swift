// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The clear parts of a file, and the remains in the store after a removal.
@Suite struct HeaderTests {
    @Test func A92_everyBitOfTheHeaderCounts() async throws {
        let circle = try await Circle.make()
        let file = try await circle.seal([1, 2, 3])
        _ = try await circle.house.files.open(file)
        let home = try circle.home(of: "house")
        for bit in 0..<(FileHeader.byteCount * 8) {
            var bytes = file.bytes
            bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
            let error = await failure { _ = try await circle.house.files.open(SealedFile(bytes)) }
            switch bit / 8 {
            case 0..<6: #expect(error == .altered, "bit \(bit)")
            case 6..<10: #expect(error == .unsupported, "bit \(bit)")
            case 10..<42: #expect(error == .noAccess, "bit \(bit)")
            case 42..<50: #expect(error == .noAccess || (bytes[49] == 0 && error == .altered), "bit \(bit)")
            case 50..<58:
                // A later entry than the store shows is a matter of the store, until the file opens.
                let sequence = bytes[50..<58].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                let isLater = sequence > file.header.head.sequence
                #expect(error == (isLater ? .store(.behind) : .altered), "bit \(bit)")
            default: #expect(error == .altered, "bit \(bit)")
            }
        }
        #expect(try circle.home(of: "house") == home)
    }

    @Test func A78_aRemovalLeavesNoWrapBehind() async throws {
        let circle = try await Circle.make()
        try await circle.anna.tresors.perform(.rotate, on: circle.tresor)
        let user = circle.house.identity.user
        let wraps = try await circle.store.wraps(of: user, in: circle.tresor, epoch: nil)
        #expect(wraps.count == 2)
        #expect(wraps.allSatisfy { circle.dump().holds(Array($0.suffix(64))) })
        try await circle.anna.tresors.perform(.revoke([user]), on: circle.tresor)
        #expect(try await circle.store.wraps(of: user, in: circle.tresor, epoch: nil) == [])
        let dump = circle.dump()
        for wrap in wraps { #expect(!dump.holds(Array(wrap.suffix(64)))) }
    }
}

extension Circle {
    /// The store file and everything that SQLite keeps beside it.
    func dump() -> [UInt8] {
        ["store.db", "store.db-wal", "store.db-shm", "store.db-journal"].flatMap { bytes(at: scratch[$0]) }
    }
}
