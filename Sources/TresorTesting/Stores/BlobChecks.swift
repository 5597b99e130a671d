// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The checks of blobs.
enum BlobChecks {
    private static let (tresor, other) = (Sample.tresor(1), Sample.tresor(2))

    private static func hash(_ number: UInt8) -> Hash256 { Sample.hash(number) }

    /// Bytes that fill so many parts and a bit of one more.
    private static func bytes(_ number: UInt32, parts: Int) -> [UInt8] {
        Sample.secret(number, byteCount: parts * StoredBlob.partByteCount + 3)
    }

    static func parts(in store: any Store) async throws {
        let whole = bytes(1, parts: 1)
        let parts = StoredBlob.parts(of: whole).map { Array($0) }
        try await expect(store.blob(hash(1), part: 0, in: tresor) == nil, or: "it gives a blob that nobody put")
        try await store.putBlob(1, [9], of: hash(1), in: tresor)
        for (part, bytes) in parts.enumerated().reversed() {
            for _ in 0..<2 { try await store.putBlob(UInt32(part), bytes, of: hash(1), in: tresor) }
        }
        for (part, bytes) in parts.enumerated() {
            try await expect(
                store.blob(hash(1), part: UInt32(part), in: tresor) == bytes,
                or: "it does not give part \(part) of a blob as it was put last")
        }
        try await expect(store.blob(hash(1), part: 2, in: tresor) == nil, or: "it gives a part after the last one")
        try await expect(store.blob(hash(1), part: .max, in: tresor) == nil, or: "it gives the last of all parts")
        try await expect(
            store.blobs([hash(1)], in: tresor) == [whole], or: "it does not give the parts of a blob as one")
        try await expect(store.blob(hash(1), part: 0, in: other) == nil, or: "it gives the blob of another tresor")
        try await expect(store.blobs([hash(1)], in: other) == [nil], or: "it gives the blob of another tresor")

        try await store.putBlob(0, [7], of: hash(1), in: other)
        try await store.putBlob(0, [8], of: hash(2), in: tresor)
        try await store.deleteBlobs([hash(1), hash(3)], in: tresor)
        for part in UInt32(0)...1 {
            try await expect(
                store.blob(hash(1), part: part, in: tresor) == nil, or: "it keeps part \(part) of a deleted blob")
        }
        try await expect(
            store.blobs([hash(2)], in: tresor) + store.blobs([hash(1)], in: other) == [[8], [7]],
            or: "it deletes another blob than it was asked to")
    }

    static func batches(in store: any Store) async throws {
        // Three parts and a bit: five of them are more than 4 MiB.
        let blobs = (UInt32(0)..<6).map { bytes($0, parts: 3) }
        for (number, blob) in blobs.enumerated() {
            for (part, bytes) in StoredBlob.parts(of: blob).enumerated() {
                try await store.putBlob(UInt32(part), Array(bytes), of: hash(UInt8(number)), in: tresor)
            }
        }
        try await expect(store.blobs([], in: tresor).isEmpty, or: "it gives blobs although none was asked for")
        try await expect(
            store.blobs([hash(9), hash(1), hash(8), hash(0)], in: tresor) == [nil, blobs[1], nil, blobs[0]],
            or: "it does not give blobs in the order in which it was asked for them")
        let all = (UInt8(0)..<6).map(hash)
        var found: [[UInt8]?] = []
        while found.count < all.count {
            let answer = try await store.blobs(Array(all[found.count...]), in: tresor)
            try expect(!answer.isEmpty, or: "it gives none of the blobs that it has")
            try expect(
                answer.reduce(0) { $0 + ($1?.count ?? 0) } <= StoredBlob.answerByteCount,
                or: "it gives more than 4 MiB in one answer")
            found += answer
        }
        try expect(found == blobs, or: "it does not give all blobs in several answers")
        let part = [UInt8](repeating: 1, count: StoredBlob.partByteCount)
        for number in UInt32(0)..<17 { try await store.putBlob(number, part, of: hash(7), in: tresor) }
        try await expect(
            store.blobs([hash(7), hash(0)], in: tresor) == [nil, blobs[0]],
            or: "it gives a blob of more than 4 MiB at once")
    }

    static func transactions(in store: any Store) async throws {
        let (sent, put) = (bytes(1, parts: 1), bytes(2, parts: 1))
        let blobs = [
            StoredBlob(hash: hash(1), size: UInt64(sent.count), bytes: sent),
            StoredBlob(hash: hash(2), size: UInt64(put.count), bytes: nil),
        ]
        let change = try Sample.change(0, after: nil, [10], blobs: blobs)
        let parts = StoredBlob.parts(of: put).map { Array($0) }
        for reason in ["that is not there", "of which it has the first part only"] {
            try await expect(store.append(change) == .conflict, or: "it appends an entry with a blob \(reason)")
            try await store.putBlob(0, parts[0], of: hash(2), in: tresor)
        }
        try await store.putBlob(1, parts[1], of: hash(2), in: other)
        try await expect(store.append(change) == .conflict, or: "it appends an entry with a blob of another tresor")
        try await expect(
            store.blobs([hash(1)], in: tresor) == [nil], or: "it stores the blob of an entry that it refused")
        try await expect(
            store.entries(of: tresor, from: 0, limit: 9).isEmpty, or: "it stores an entry without its blobs")
        try await store.putBlob(1, parts[1], of: hash(2), in: tresor)
        try await expect(store.append(change) == .done, or: "it refuses an entry whose blobs are all there")
        try await expect(
            store.blobs([hash(2), hash(1)], in: tresor) == [put, sent], or: "it loses a blob of an entry")
        let late = try Sample.change(
            0, after: nil, [11], blobs: [StoredBlob(hash: hash(3), size: 1, bytes: [3])])
        try await expect(store.append(late) == .conflict, or: "it appends entry 0 a second time")
        try await expect(
            store.blobs([hash(3)], in: tresor) == [nil], or: "it stores the blob of an entry that it refused")
    }
}
