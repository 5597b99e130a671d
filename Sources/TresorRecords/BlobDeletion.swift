// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

extension BlobStore {
    /// Deletes blobs in their order, a few with each call: a store overwrites all of one call at once, and serves nobody
    /// else in that time.
    ///
    /// - Throws: ``TresorError/cancelled``; the errors of the store. What was deleted by then is gone.
    func deleteFew(_ blobs: some Collection<Blob>, in tresor: TresorID) async throws(TresorError) {
        for portion in BlobPortion.all(of: blobs) {
            try Cancellation.check()
            try await deleteBlobs(portion.map(\.hash), in: tresor)
        }
    }
}

/// The blobs that are deleted with one call.
enum BlobPortion {
    /// The most of them.
    static let maximumCount = 256
    /// The most bytes that they have together by the log, unless one alone has more: 64 MiB.
    static let maximumByteCount: UInt64 = 1 << 26

    /// Divides blobs into portions, in their order.
    static func all(of blobs: some Collection<Blob>) -> [[Blob]] {
        var portions: [[Blob]] = []
        var rest: UInt64 = 0
        for blob in blobs {
            if let last = portions.last, last.count < maximumCount, blob.size <= rest {
                portions[portions.count - 1].append(blob)
                rest -= blob.size
            } else {
                portions.append([blob])
                rest = maximumByteCount - min(blob.size, maximumByteCount)
            }
        }
        return portions
    }
}
