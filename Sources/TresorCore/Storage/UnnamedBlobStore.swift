// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A store that does not forget by itself what no entry names, and deletes it when it is asked (SPEC §11).
package protocol UnnamedBlobStore: BlobStore {
    /// Deletes the blobs of a tresor but those that are named, while its log ends with an entry.
    ///
    /// - Parameters:
    ///   - named: the blobs that stay.
    ///   - tresor: the tresor.
    ///   - head: the entry hash of the last entry of its log. No entry behind it can name what is deleted.
    /// - Throws: ``TresorError/busy`` for a log that ends with another entry by now; what was deleted before stays deleted.
    func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) async throws(TresorError)

    /// Deletes these blobs of a tresor, while its log ends with an entry.
    ///
    /// - Throws: ``TresorError/busy`` as above.
    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) async throws(TresorError)
}
