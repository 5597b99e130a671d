// SPDX-License-Identifier: Apache-2.0

/// The promises of `Store`, in the order in which they are checked.
package enum Promise: String, Hashable, Sendable, CaseIterable {
    /// A new store has nothing, and deleting nothing succeeds.
    case emptiness = "a new store is empty"
    /// A card chain is created once, and replaced only by a caller who knows the stored one.
    case cardReplacement = "a card chain is replaced only by a caller who knows it"
    /// A handle belongs to one user id.
    case handleOwnership = "a handle belongs to one user id"
    /// Handles are compared as bytes.
    case handleBytes = "handles are compared as bytes"
    /// User ids are found by any prefix, in byte order.
    case userPrefixes = "user ids are found by a prefix, in byte order"
    /// A log grows only at its end, by compare-and-swap with its last entry.
    case compareAndSwap = "a log grows only after the entry that its author saw"
    /// Entries are read in order, from any place and in pieces.
    case entryOrder = "entries are read in order and in pieces"
    /// Wraps change together with their entry or not at all.
    case wrapTransactions = "wraps change with their entry or not at all"
    /// A wrap is restored without an entry.
    case wrapRestoration = "a wrap is restored in place of a damaged one"
    /// Restoring an entry replaces nothing and appends nothing.
    case entryRestoration = "restoring an entry replaces and appends nothing"
    /// A deleted tresor is gone, and nothing brings it back.
    case tresorDeletion = "a deleted tresor is gone, and its id stays taken"
    /// A blob lies in parts, by tresor and hash.
    case blobParts = "a blob is kept in parts, by tresor and hash"
    /// Whole blobs are read at once, in order, up to 4 MiB.
    case blobBatches = "blobs are read at once, in order, up to 4 MiB"
    /// An entry is appended only with its blobs.
    case blobTransactions = "an entry is appended with its blobs or not at all"
    /// Server shares are kept and deleted by user id and device.
    case serverShares = "server shares are kept by user id and device"
    /// Kit copies are replaced and deleted.
    case kitCopies = "kit copies are replaced and deleted"
    /// Of many writers at one place, exactly one wins.
    case manyWriters = "of many writers at one place exactly one wins"
    /// Everything that was confirmed is there when the store is opened again.
    case durability = "what was confirmed is there when the store is opened again"
    /// The same for blobs.
    case blobDurability = "a confirmed blob is there when the store is opened again"
    /// The bytes of deleted and replaced secrets are gone from the place.
    case erasure = "the bytes of deleted secrets are gone from the place"

    /// Throws a `BrokenPromise`, or the unexpected error of a call.
    func check(at place: StorePlace) async throws {
        switch self {
        case .emptiness: try await CardChecks.emptiness(of: place.open())
        case .cardReplacement: try await CardChecks.replacement(in: place.open())
        case .handleOwnership: try await CardChecks.handleOwnership(in: place.open())
        case .handleBytes: try await CardChecks.handleBytes(in: place.open())
        case .userPrefixes: try await CardChecks.userPrefixes(in: place.open())
        case .compareAndSwap: try await LogChecks.compareAndSwap(in: place.open())
        case .entryOrder: try await LogChecks.entryOrder(in: place.open())
        case .wrapTransactions: try await LogChecks.wrapTransactions(in: place.open())
        case .wrapRestoration: try await LogChecks.wrapRestoration(in: place.open())
        case .entryRestoration: try await LogChecks.entryRestoration(in: place.open())
        case .tresorDeletion: try await LogChecks.tresorDeletion(in: place.open())
        case .blobParts: try await BlobChecks.parts(in: place.open())
        case .blobBatches: try await BlobChecks.batches(in: place.open())
        case .blobTransactions: try await BlobChecks.transactions(in: place.open())
        case .serverShares: try await EscrowChecks.serverShares(in: place.open())
        case .kitCopies: try await EscrowChecks.kitCopies(in: place.open())
        case .manyWriters: try await PlaceChecks.manyWriters(at: place)
        case .durability: try await PlaceChecks.durability(at: place)
        case .blobDurability: try await PlaceChecks.blobDurability(at: place)
        case .erasure: try await ErasureChecks.check(at: place)
        }
    }
}
