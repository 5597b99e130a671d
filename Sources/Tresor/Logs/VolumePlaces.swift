// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The sequence numbers at which a home may keep volumes of a tresor (SPEC §8.5): all but those of entries that are no
/// checkpoints, as far as the local copy of the log tells.
///
/// It reads each part of the copy once. One that cannot be read counts as none: what was kept goes nevertheless.
struct VolumePlaces {
    private let archive: LogArchive
    let tresor: TresorID
    /// The places, by part of the log.
    private var known: [UInt64: [UInt64]] = [:]

    init(of tresor: TresorID, in archive: LogArchive) {
        self.archive = archive
        self.tresor = tresor
    }

    /// The places among the entries of a part of kept packs.
    mutating func places(inPart part: UInt64) -> [UInt64] {
        let first = part * LogArchive.packPartCount
        let logPart = first / LogCopy.partCount
        let places = known[logPart] ?? places(inLogPart: logPart)
        known[logPart] = places
        return places.filter { (first..<first + LogArchive.packPartCount).contains($0) }
    }

    /// The copy is believed about an entry if it has the next one too, which names its hash.
    private func places(inLogPart part: UInt64) -> [UInt64] {
        let first = part * LogCopy.partCount
        let last = first + LogCopy.partCount - 1
        let copy = ((try? archive.entries(of: tresor, from: first, through: last)) ?? []).map { try? Entry($0) }
        return (first...last).filter { sequence in
            let place = Int(sequence - first)
            guard copy.indices.contains(place + 1), let entry = copy[place], entry.tresor == tresor,
                entry.sequence == sequence, let hash = try? entry.hash(), copy[place + 1]?.previous == hash
            else { return true }
            return entry.isCheckpoint
        }
    }
}
