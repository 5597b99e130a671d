// SPDX-License-Identifier: Apache-2.0

import Foundation
import TresorCore
import TresorCrypto

/// A store in a directory: one file for each card, tresor, user with devices, kit copy, and part of a blob.
///
/// It is an example of a store of your own, and fit for a few people. A lock gives the directory to one call at a time.
/// A log and its wraps are one file, so that they change together; each append writes that file again.
public actor DirectoryStore {
    struct Card: Codable {
        var handle: Data
        var chain: Data
    }

    struct Log: Codable {
        var entries: [Data] = []
        /// By user id in hexadecimal digits, then by epoch.
        var wraps: [String: [String: Data]] = [:]
        /// Whether the tresor was deleted. The file then has nothing else, and keeps the id taken.
        var isDeleted = false
    }

    private let lockPath: String
    private let cards: Folder
    private let logs: Folder
    private let shares: Folder
    private let kits: Folder
    private let blobs: Folder

    /// Opens the store in a directory, and makes it if it is missing.
    ///
    /// - Throws: the error of the file system.
    public init(at path: String) throws {
        cards = try Folder(at: "\(path)/cards")
        logs = try Folder(at: "\(path)/logs")
        shares = try Folder(at: "\(path)/shares")
        kits = try Folder(at: "\(path)/kits")
        blobs = try Folder(at: "\(path)/blobs")
        lockPath = "\(path)/lock"
    }

    /// Runs one call while no other store works in this directory, and gives its failures their names.
    private func locked<Answer>(_ work: () throws -> Answer) throws(TresorError) -> Answer {
        do {
            let lock = try Descriptor(lockPath, O_RDWR | O_CREAT)
            try lock.lock()
            defer { lock.unlock() }
            return try work()
        } catch let failure as Descriptor.Failure {
            throw .store(failure.number == ENOSPC ? .full : .inputOutput)
        } catch is DecodingError {
            throw .store(.damaged)
        } catch {
            throw .store(.inputOutput)
        }
    }

    private func value<Value: Decodable>(_ name: String, in folder: Folder) throws -> Value? {
        try folder.read(name).map { try PropertyListDecoder().decode(Value.self, from: $0) }
    }

    private func replace(_ name: String, with value: some Encodable, in folder: Folder) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        try folder.replace(name, with: encoder.encode(value))
    }
}

extension DirectoryStore: CardStore {
    /// Stores a card chain, if the stored one is `replacing` and no other user id has the handle.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) throws(TresorError) -> StoreOutcome {
        try locked {
            let name = hex(user.digest)
            let present: Card? = try value(name, in: cards)
            for other in try cardNames() where other != name {
                let card: Card? = try value(other, in: cards)
                guard card?.handle != Data(handle) else { return .conflict }
            }
            if present?.chain == Data(chain) { return .done }
            guard present?.chain == replacing.map({ Data($0) }) else { return .conflict }
            try replace(name, with: Card(handle: Data(handle), chain: Data(chain)), in: cards)
            return .done
        }
    }

    /// Returns the card chain of a user id, or `nil`.
    public func card(of user: UserID) throws(TresorError) -> [UInt8]? {
        try locked {
            let card: Card? = try value(hex(user.digest), in: cards)
            return card.map { Array($0.chain) }
        }
    }

    /// Returns the card chains under a handle.
    public func cards(handle: [UInt8]) throws(TresorError) -> [[UInt8]] {
        try locked {
            try cardNames().compactMap { name in
                let card: Card? = try value(name, in: cards)
                return card?.handle == Data(handle) ? card.map { Array($0.chain) } : nil
            }
        }
    }

    /// Returns the user ids with a card that begin with `prefix`, in byte order, at most `limit`.
    public func users(prefix: [UInt8], limit: Int) throws(TresorError) -> [UserID] {
        try locked {
            let start = hex(prefix)
            return try cardNames().filter { $0.hasPrefix(start) }.prefix(max(0, limit))
                .compactMap { name in hash(name).map { UserID($0) } }
        }
    }

    /// The names of the cards. A folder that a cloud keeps may hold copies of them under other names.
    private func cardNames() throws -> [String] { try cards.names().filter { hash($0) != nil } }
}

extension DirectoryStore: LogStore {
    /// Returns the entries of a log from `first` on, at most `limit`.
    public func entries(of tresor: TresorID, from first: UInt64, limit: Int) throws(TresorError) -> [[UInt8]] {
        try locked {
            let log: Log? = try value(hex(tresor.digest), in: logs)
            guard let log, let start = Int(exactly: first), start < log.entries.count else { return [] }
            return log.entries[start...].prefix(max(0, limit)).map { Array($0) }
        }
    }

    /// Appends one entry and changes its wraps, if the log still ends as `change` expects.
    public func append(_ change: LogChange) throws(TresorError) -> StoreOutcome {
        try locked {
            var log: Log = try value(hex(change.tresor.digest), in: logs) ?? Log()
            guard !log.isDeleted, UInt64(log.entries.count) == change.sequence,
                try change.follows(log.entries.last.map { Array($0) })
            else { return .conflict }
            for blob in change.blobs where blob.bytes == nil {
                guard try has(blob, in: change.tresor) else { return .conflict }
            }
            // Blobs that lie there before their entry do no harm.
            for blob in change.blobs {
                try put(blob.bytes ?? [], of: blob.hash, in: change.tresor)
            }
            log.entries.append(Data(change.entry))
            for user in change.removingWrapsOf { log.wraps[hex(user.digest)] = nil }
            log.put(change.putting)
            try replace(hex(change.tresor.digest), with: log, in: logs)
            return .done
        }
    }

    /// Returns the wraps of one member of one tresor, by rising epoch.
    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) throws(TresorError) -> [[UInt8]] {
        try locked {
            let log: Log? = try value(hex(tresor.digest), in: logs)
            let wraps = (log?.wraps[hex(user.digest)] ?? [:]).compactMap { wrap in
                UInt64(wrap.key).map { (epoch: $0, bytes: Array(wrap.value)) }
            }
            return wraps.filter { epoch == nil || $0.epoch == epoch }.sorted { $0.epoch < $1.epoch }.map(\.bytes)
        }
    }

    /// Restores wraps without an entry.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) throws(TresorError) {
        guard !wraps.isEmpty else { return }
        try locked {
            var log: Log = try value(hex(tresor.digest), in: logs) ?? Log()
            guard !log.isDeleted else { return }
            log.put(wraps)
            try replace(hex(tresor.digest), with: log, in: logs)
        }
    }

    /// Returns the tresors in which a user id has a wrap, in byte order.
    public func tresors(of user: UserID) throws(TresorError) -> [TresorID] {
        try locked {
            try logs.names().compactMap { name in
                guard let id = hash(name) else { return nil }
                let log: Log? = try value(name, in: logs)
                return log?.wraps[hex(user.digest)]?.isEmpty == false ? TresorID(id) : nil
            }
        }
    }
}

extension DirectoryStore {
    /// Deletes a tresor. Its id stays taken.
    public func deleteTresor(_ tresor: TresorID) throws(TresorError) {
        try locked {
            try replace(hex(tresor.digest), with: Log(isDeleted: true), in: logs)
            for name in try blobs.names() where name.hasPrefix(hex(tresor.digest)) { try blobs.delete(name) }
        }
    }

    private func isDeleted(_ tresor: TresorID) throws -> Bool {
        let log: Log? = try value(hex(tresor.digest), in: logs)
        return log?.isDeleted ?? false
    }
}

extension DirectoryStore: BlobStore {
    private static let partByteCount = StoredBlob.partByteCount
    private static let answerByteCount = 4 << 20

    private func name(_ part: UInt32, of hash: Hash256, in tresor: TresorID) -> String {
        "\(hex(tresor.digest)).\(hex(hash)).\(part)"
    }

    /// The bytes of a blob up to the first part that is missing; `nil` without the first one.
    private func whole(_ hash: Hash256, in tresor: TresorID) throws -> [UInt8]? {
        var (bytes, part): ([UInt8], UInt32) = ([], 0)
        while let next = try blobs.read(name(part, of: hash, in: tresor)) {
            bytes += next
            part += 1
        }
        return part > 0 ? bytes : nil
    }

    private func has(_ blob: StoredBlob, in tresor: TresorID) throws -> Bool {
        try whole(blob.hash, in: tresor)?.count == Int(exactly: blob.size)
    }

    private func put(_ bytes: [UInt8], of hash: Hash256, in tresor: TresorID) throws {
        for start in stride(from: 0, to: bytes.count, by: Self.partByteCount) {
            let part = bytes[start..<min(start + Self.partByteCount, bytes.count)]
            try blobs.replace(name(UInt32(start / Self.partByteCount), of: hash, in: tresor), with: Data(part))
        }
    }

    /// Stores one part of a blob.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) throws(TresorError) {
        try locked {
            guard try !isDeleted(tresor) else { return }
            try blobs.replace(name(part, of: hash, in: tresor), with: Data(bytes))
        }
    }

    /// Returns one part of a blob, or `nil`.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) throws(TresorError) -> [UInt8]? {
        try locked { try blobs.read(name(part, of: hash, in: tresor)).map { Array($0) } }
    }

    /// Returns whole blobs, as many of the first as fit into 4 MiB.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) throws(TresorError) -> [[UInt8]?] {
        try locked {
            var (found, left): ([[UInt8]?], Int) = ([], Self.answerByteCount)
            for hash in hashes {
                guard let bytes = try whole(hash, in: tresor), bytes.count <= Self.answerByteCount else {
                    found.append(nil)
                    continue
                }
                guard bytes.count <= left else { break }
                left -= bytes.count
                found.append(bytes)
            }
            return found
        }
    }

    /// Deletes blobs.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) throws(TresorError) {
        try locked {
            for hash in hashes {
                let start = "\(hex(tresor.digest)).\(hex(hash))."
                for name in try blobs.names() where name.hasPrefix(start) { try blobs.delete(name) }
            }
        }
    }
}

extension DirectoryStore: EscrowStore {
    /// Stores the server share of a device.
    public func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) throws(TresorError)
    {
        try locked {
            var all: [String: Data] = try value(hex(user.digest), in: shares) ?? [:]
            all[hex(device.bytes)] = Data(share)
            try replace(hex(user.digest), with: all, in: shares)
        }
    }

    /// Returns the server share of a device, or `nil`.
    public func serverShare(user: UserID, device: DeviceID) throws(TresorError) -> [UInt8]? {
        try locked {
            let all: [String: Data]? = try value(hex(user.digest), in: shares)
            return all?[hex(device.bytes)].map { Array($0) }
        }
    }

    /// Deletes the server shares of these devices, or of all devices of the user id.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) throws(TresorError) {
        try locked {
            let name = hex(user.digest)
            guard let devices else { return try shares.delete(name) }
            guard var all: [String: Data] = try value(name, in: shares) else { return }
            for device in devices { all[hex(device.bytes)] = nil }
            try replace(name, with: all, in: shares)
        }
    }

    /// Stores a kit copy, in place of an existing one.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) throws(TresorError) {
        try locked { try kits.replace(hex(locator), with: Data(copy)) }
    }

    /// Returns the kit copy under a locator, or `nil`.
    public func kitCopy(locator: Hash256) throws(TresorError) -> [UInt8]? {
        try locked { try kits.read(hex(locator)).map { Array($0) } }
    }

    /// Deletes a kit copy.
    public func deleteKitCopy(locator: Hash256) throws(TresorError) {
        try locked { try kits.delete(hex(locator)) }
    }
}

extension DirectoryStore.Log {
    fileprivate mutating func put(_ new: [StoredWrap]) {
        for wrap in new { wraps[hex(wrap.user.digest), default: [:]]["\(wrap.epoch)"] = Data(wrap.bytes) }
    }
}

/// Two hexadecimal digits for each byte, which sort as the bytes do.
private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
}

private func hex(_ hash: Hash256) -> String { hex(hash.bytes) }

/// The hash that digits stand for; `nil` for the name of another file.
private func hash(_ digits: String) -> Hash256? {
    let digits = Array(digits)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
        UInt8(String(digits[$0...$0 + 1]), radix: 16)
    }
    return digits.count == 64 ? Hash256(bytes) : nil
}
