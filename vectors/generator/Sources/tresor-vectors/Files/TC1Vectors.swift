// SPDX-License-Identifier: Apache-2.0

import Csodium

/// derive and TC1 (SPEC §6).
struct TC1Vectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("tc1", section: "6", purpose: "derive and TC1, whole messages and every way to break one")
        let vectors = Self(file: file)
        vectors.addDerivations()
        file.group("open")
        for (count, comment) in [
            (0, "empty: the last chunk is empty"), (1, "one byte"), (32, "a key"), (512, "a small payload"),
        ] { vectors.addOpening(count, comment, flag: count == 0 ? "EdgeCase" : "Normal") }
        let base = vectors.addOpening(64, "the base of what follows")
        vectors.addOneChunkFaults(base: base)
        vectors.addSizeFaults(base: base)
        vectors.addKeyCommitment()
        vectors.addChunkFaults()
        return file
    }

    private func addDerivations() {
        group("derive")
        for (label, context) in [
            ("tresor/v1/identity-sign", ""), ("tresor/v1/kit-slot", ""), ("tresor/v1/slot-device", "context"),
        ] {
            let key = draw()("K", 32)
            valid(
                "derive under \(label)",
                in: ["K": key, "label": ascii(label), "context": ascii(context)],
                mid: [
                    "input": join(prefixed(ascii("tresor/v1/derive")), prefixed(ascii(label)), prefixed(ascii(context)))
                ],
                out: ["key": derive(key, label, ascii(context))])
        }
    }

    private struct Message {
        let key: Bytes
        let label = "tresor/v1/file-seal"
        let context: Bytes
        let plaintext: Bytes
        let sealing: Sealing

        init(_ draw: Draw, count: Int) {
            key = draw("K", 32)
            context = draw("context", 90)
            plaintext = draw("plaintext", count)
            sealing = Sealing(key, label, context, plaintext, salt: draw("salt", 24))
        }

        var input: Values {
            ["K": key, "label": ascii(label), "context": context, "sealed": sealing.bytes]
        }

        var middle: Values {
            [
                "salt": sealing.salt, "okm": sealing.okm, "k": sealing.messageKey, "commitment": sealing.commitment,
            ]
        }
    }

    @discardableResult private func addOpening(_ count: Int, _ comment: String, flag: String = "Normal") -> Int {
        let message = Message(draw(), count: count)
        return valid(comment, [flag], in: message.input, mid: message.middle, out: ["plaintext": message.plaintext])
    }

    private func addOneChunkFaults(base: Int) {
        let message = Message(draw(base), count: 64)
        let sealed = message.sealing.bytes
        invalid("a bit of the key", "WrongKey", "altered", base: base, in: ["K": message.key.flipped(at: 0)])
        invalid("an unrelated key", "WrongKey", "altered", base: base, in: ["K": draw()("K", 32)])
        for label in ["tresor/v1/name-seal", "tresor/v1/backlink-seal", "file-seal"] {
            invalid("the label \"\(label)\"", "WrongLabel", "altered", base: base, in: ["label": ascii(label)])
        }
        invalid(
            "a bit of the context", "WrongContext", "altered", base: base,
            in: ["context": message.context.flipped(at: 89)])
        invalid(
            "a shorter context", "WrongContext", "altered", base: base,
            in: ["context": Bytes(message.context.dropLast())])
        invalid("no context", "WrongContext", "altered", base: base, in: ["context": []])
        for (index, flag) in [
            (0, "ModifiedSalt"), (23, "ModifiedSalt"), (24, "ModifiedCommitment"), (55, "ModifiedCommitment"),
            (56, "ModifiedCiphertext"), (119, "ModifiedCiphertext"), (120, "ModifiedTag"), (135, "ModifiedTag"),
        ] {
            invalid(
                "a bit of byte \(index)", flag, "altered", base: base,
                in: ["sealed": sealed.flipped(at: index, bit: 0x80)])
        }
        invalid(
            "sealed under the right message key, the commitment of zeros", "ModifiedCommitment", "altered", base: base,
            in: ["sealed": sealed.replacing(at: 24, with: zeros(32))])
    }

    private func addSizeFaults(base: Int) {
        let sealed = Message(draw(base), count: 64).sealing.bytes
        for count in [0, 1, 55, 56, 71, 135] {
            invalid(
                "\(count) bytes of it", "Truncated", "altered", base: base, in: ["sealed": Bytes(sealed.prefix(count))])
        }
        invalid("one byte more", "TrailingData", "altered", base: base, in: ["sealed": sealed + [0]])
        invalid("another message behind it", "TrailingData", "altered", base: base, in: ["sealed": sealed + sealed])
    }

    /// Real collisions: the ciphertext opens under both message keys; only the commitment tells which key it was made
    /// for.
    private func addKeyCommitment() {
        for other in ["K", "context"] {
            let draw = draw()
            let first = (key: draw("K", 32), context: draw("context", 8))
            let second = (
                key: other == "K" ? draw("K'", 32) : first.key,
                context: other == "K" ? first.context : draw("context'", 8)
            )
            let salt = draw("salt", 24)
            let label = "tresor/v1/file-seal"
            let okm = Sealing.okm(first.key, label, first.context, salt: salt)
            let otherOkm = Sealing.okm(second.key, label, second.context, salt: salt)
            let chunk = must(try Collision.chunk(okm.at(0, 32), otherOkm.at(0, 32)))
            let sealed = salt + okm.at(32, 32) + chunk
            let base = valid(
                "a ciphertext that opens under two message keys, with the first one's commitment", ["KeyCommitment"],
                in: ["K": first.key, "label": ascii(label), "context": first.context, "sealed": sealed],
                mid: ["salt": salt, "okm": okm, "k": okm.at(0, 32), "commitment": okm.at(32, 32)],
                out: ["plaintext": Collision.open(chunk, okm.at(0, 32))])
            invalid(
                "the other \(other): its message key k opens the chunk, and the commitment is not its own",
                "KeyCommitment", "altered", base: base, in: [other: other == "K" ? second.key : second.context],
                mid: [
                    "okm": otherOkm, "k": otherOkm.at(0, 32), "commitment": otherOkm.at(32, 32),
                    "plaintext without the check": Collision.open(chunk, otherOkm.at(0, 32)),
                ])
        }
    }

    private func addChunkFaults() {
        let base = addOpening(65_537, "two chunks, the last of one byte", flag: "EdgeCase")
        let message = Message(draw(base), count: 65_537)
        let (salt, commitment) = (message.sealing.salt, message.sealing.commitment)
        let chunks = message.sealing.chunks
        let key = message.sealing.messageKey
        let start = salt + commitment
        func refuse(_ comment: String, _ flag: String, _ sealed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed": sealed])
        }
        refuse("without its last chunk", "LastChunkMissing", start + chunks[0])
        refuse("without its first chunk", "ChunkDropped", start + chunks[1])
        refuse(
            "the first chunk alone, sealed as the last: another message", "LastChunkEarly",
            start + Sealing.chunk(message.plaintext.at(0, 65536), key: key, index: 0, isLast: true) + chunks[1])
        refuse(
            "the last chunk not sealed as the last", "LastChunkEarly",
            start + chunks[0] + Sealing.chunk(message.plaintext.at(65536, 1), key: key, index: 1, isLast: false))
        refuse(
            "an empty last chunk", "EmptyLastChunk",
            start + chunks[0] + Sealing.chunk([], key: key, index: 1, isLast: true))
        refuse("a bit of the first chunk", "ModifiedCiphertext", message.sealing.bytes.flipped(at: 60))
        refuse("a bit of the first tag", "ModifiedTag", message.sealing.bytes.flipped(at: 56 + 65536))
        addThreeChunkFaults()
    }

    private func addThreeChunkFaults() {
        let base = addOpening(131_072, "two full chunks, the last is full", flag: "EdgeCase")
        let message = Message(draw(base), count: 131_072)
        let chunks = message.sealing.chunks
        let key = message.sealing.messageKey
        let start = message.sealing.salt + message.sealing.commitment
        func refuse(_ comment: String, _ flag: String, _ sealed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed": sealed])
        }
        refuse("the chunks changed places", "ChunkReordered", start + chunks[1] + chunks[0])
        refuse(
            "the chunks changed places, each sealed as what it stands for but the number", "ChunkReordered",
            join(
                start, Sealing.chunk(message.plaintext.at(65536, 65536), key: key, index: 1, isLast: false),
                Sealing.chunk(message.plaintext.at(0, 65536), key: key, index: 0, isLast: true)))
        refuse("the first chunk twice", "ChunkDuplicated", start + chunks[0] + chunks[0])
        refuse("the last chunk twice", "ChunkDuplicated", start + chunks[1] + chunks[1])
        refuse("without its first chunk", "ChunkDropped", start + chunks[1])
        refuse("without its last chunk", "LastChunkMissing", start + chunks[0])
        refuse(
            "an empty chunk at the end", "EmptyLastChunk",
            join(
                start, chunks[0], Sealing.chunk(message.plaintext.at(65536, 65536), key: key, index: 1, isLast: false),
                Sealing.chunk([], key: key, index: 2, isLast: true)))
    }
}
