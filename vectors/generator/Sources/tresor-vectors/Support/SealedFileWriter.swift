// SPDX-License-Identifier: Apache-2.0

/// A sealed file of SPEC §10 with every intermediate.
struct FileSealing {
    let header: Bytes
    let fields: Bytes
    let parts: [Bytes]
    let digest: Bytes
    let message: Bytes
    let signature: Bytes
    let padding: Bytes
    let payload: Bytes
    let sealing: Sealing
    let origin: Bytes

    var bytes: Bytes { header + sealing.bytes }

    /// The possible deviations from SPEC.
    struct Faults {
        var padding: Bytes?
        var contentLength: UInt64?
        var signature: Bytes?
        var originFlag: UInt8?
        var epoch: EpochSecret?
    }

    init(
        _ content: Bytes, type: String = "application/json", record: String = "plan.json", author: Person,
        generation: Int? = nil, time: UInt64, tresor: Bytes, epoch: EpochSecret, head: (UInt64, Bytes),
        origin: FileSealing? = nil, originBytes: Bytes? = nil, salt: Bytes, signer: Person? = nil,
        isVolume: Bool = false, faults: Faults = Faults()
    ) {
        header = Self.header(tresor: tresor, epoch: epoch.number, head: head)
        let author32 = author.user
        let generation = generation ?? author.generation
        let carried = originBytes ?? origin?.origin
        let flag = faults.originFlag ?? (carried == nil ? 0 : 1)
        let own = author32 + u32(generation) + u64(time)
        fields =
            join(own, u16(type.utf8.count), ascii(type), u16(record.utf8.count), ascii(record), [flag], carried ?? [])
        (parts, digest) = Self.digest(content)
        message = header + fields + digest
        let signer = signer ?? author
        signature =
            faults.signature
            ?? signer.sign("tresor/v1/file-signature", message, generation: min(generation, signer.generation))
        let length = max(fields.count + content.count + 72, 512)
        padding = faults.padding ?? zeros(Self.padded(length) - fields.count - content.count - 72)
        payload = join(fields, content, padding, u64(faults.contentLength ?? UInt64(content.count)), signature)
        let keys = faults.epoch ?? epoch
        let volumeKey = derive(keys.hk, "tresor/v1/volume-key", tresor + u64(epoch.number))
        sealing =
            isVolume
            ? Sealing(volumeKey, "tresor/v1/volume-seal", header, payload, salt: salt)
            : Sealing(keys.tk, "tresor/v1/file-seal", header, payload, salt: salt)
        self.origin = header + own + signature
    }

    static func header(tresor: Bytes, epoch: UInt64, head: (UInt64, Bytes)) -> Bytes {
        join(preamble("tresorF1"), tresor, u64(epoch), u64(head.0), head.1)
    }

    static func digest(_ content: Bytes) -> (parts: [Bytes], digest: Bytes) {
        let parts = stride(from: 0, to: content.count, by: 65536).enumerated().map { index, start in
            hash(
                "tresor/v1/content-part", u64(UInt64(index)) + content[start..<min(start + 65536, content.count)])
        }
        let input = join(prefixed(ascii("tresor/v1/content-hash")), u64(UInt64(content.count)), join(parts))
        return (parts, blake2b(64, input))
    }

    static func padded(_ length: Int) -> Int {
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let significant = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = 1 << (exponent - significant)
        return (length + mask - 1) / mask * mask
    }
}
