// SPDX-License-Identifier: Apache-2.0

/// Whole sealed files after a header of text lines: vectors/testkit.
enum Testkit {
    static func all() -> [(name: String, bytes: Bytes, isNegative: Bool)] {
        let fixture = FileFixture()
        var kits: [(name: String, bytes: Bytes, isNegative: Bool)] = []
        func add(
            _ name: String, _ comment: String, _ file: Bytes, content: Bytes? = nil, error: String? = nil,
            key: Bytes? = nil, record: String? = nil,
            from: Bytes? = nil
        ) {
            var lines = ["expect: \(error ?? "ok")", "content: \(content.map { hexText(blake2b(32, $0)) } ?? "none")"]
            lines.append("key: \(hexText(key ?? fixture.log.current.tk))")
            lines.append("log: \(hexText(fixture.log.kept))")
            lines.append("tresor: \(hexText(fixture.log.tresor))")
            if let record { lines.append("record: \(hexText(ascii(record)))") }
            if let from { lines.append("from: \(hexText(from))") }
            lines.append("comment: \(comment)")
            kits.append((name, ascii(lines.joined(separator: "\n") + "\n\n") + file, error != nil))
        }
        func draw(_ name: String) -> Draw { Draw(file: "testkit/\(name)", id: 1) }
        let small = fixture.seal(fixture.content, draw("small"))
        add("small", "a care plan", small.bytes, content: fixture.content)
        add(
            "small-expected", "with record and author as expected", small.bytes, content: fixture.content,
            record: "plan.json", from: Cast.anna.user)
        add("armoured", "the same in armour", Armoured.text(small.bytes), content: fixture.content)
        add("armoured-crlf", "in armour with CRLF", Armoured.text(small.bytes, eol: "\r\n"), content: fixture.content)
        let empty = fixture.seal([], draw("empty"))
        add("empty", "no content", empty.bytes, content: [])
        let text = Bytes(repeating: 0x2e, count: 200_000)
        let large = fixture.seal(text, draw("large"))
        let chunks = large.sealing.chunks
        add("large", "200 000 bytes, four chunks", large.bytes, content: text)
        let start = join(large.header, large.sealing.salt, large.sealing.commitment)
        let earlier = fixture.seal(fixture.content, draw("old"), head: 3, epoch: 1, author: Cast.bert)
        add(
            "resealed", "bert's file, sealed again by anna", fixture.resealed(earlier, draw("resealed")).bytes,
            content: fixture.content, from: Cast.bert.user)
        let hostile = ascii("{\"a\":1,\"a\":2,}\u{1b}[2J\n")
        add(
            "hostile-content", "content is bytes, whatever they say", fixture.seal(hostile, draw("hostile")).bytes,
            content: hostile)

        add("truncated", "the last byte is missing", Bytes(small.bytes.dropLast()), error: "altered")
        add("trailing", "a byte more", small.bytes + [0], error: "altered")
        add("header-only", "the header alone", Bytes(small.bytes.prefix(90)), error: "altered")
        add("nothing", "no bytes", [], error: "altered")
        add("other-release", "another release", small.bytes.replacing(at: 7, with: [0x32]), error: "unsupported")
        add("suite-2", "another suite", small.bytes.replacing(at: 9, with: [2]), error: "unsupported")
        add("wrong-key", "another key", small.bytes, error: "altered", key: fixture.log.epochs[1].tk)
        add("wrong-record", "another record was expected", small.bytes, error: "altered", record: "other.json")
        add("wrong-author", "another author was expected", small.bytes, error: "altered", from: Cast.bert.user)
        add("header-bit", "a bit of the head's hash in the header", small.bytes.flipped(at: 89), error: "altered")
        add("commitment-bit", "a bit of the commitment", small.bytes.flipped(at: 114), error: "altered")
        add(
            "last-tag-bit", "a bit of the very last tag", large.bytes.flipped(at: large.bytes.count - 1),
            error: "altered")
        add(
            "chunk-dropped", "the last chunk is missing", join(start, chunks[0], chunks[1], chunks[2]), error: "altered"
        )
        add(
            "chunks-swapped", "two chunks changed places", join(start, chunks[1], chunks[0], chunks[2], chunks[3]),
            error: "altered")
        add(
            "chunk-doubled", "a chunk twice", join(start, chunks[0], chunks[0], chunks[1], chunks[2], chunks[3]),
            error: "altered")
        addChunks(fixture, draw) { add($0, $1, $2, content: $3, error: $3 == nil ? "altered" : nil) }
        let forged = fixture.seal(text, draw("forged"), faults: .init(signature: large.signature.flipped(at: 3)))
        add("large-forged", "a signature that does not hold, behind four good chunks", forged.bytes, error: "altered")
        add(
            "padding", "a padding byte that is not zero",
            fixture.seal(fixture.content, draw("padding"), faults: .init(padding: [1] + zeros(small.padding.count - 1)))
                .bytes, error: "altered")
        add(
            "by-a-reader", "sealed by a reader", fixture.seal(fixture.content, draw("reader"), author: Cast.cleo).bytes,
            error: "no_access")
        add(
            "by-a-stranger", "sealed by somebody who never was in",
            fixture.seal(fixture.content, draw("stranger"), author: Cast.gwen).bytes, error: "no_access")
        let unknown = FileSealing(
            fixture.content, author: Cast.anna, time: fixture.log.time, tresor: fixture.log.tresor,
            epoch: fixture.log.current, head: (7, zeros(32)), salt: zeros(24))
        add("unknown-head", "a head that is not in the log", unknown.bytes, error: "forked")
        let later = FileSealing(
            fixture.content, author: Cast.anna, time: fixture.log.time, tresor: fixture.log.tresor,
            epoch: fixture.log.current, head: (8, zeros(32)), salt: zeros(24))
        add("later-head", "a head beyond what the store shows of the log", later.bytes, error: "store")
        add("armour-open", "armour that does not end", Bytes(Armoured.text(small.bytes).dropLast(10)), error: "altered")
        return kits
    }

    /// Payloads of exactly one and two chunks, one byte less and more, and changes of a last chunk.
    private static func addChunks(
        _ fixture: FileFixture, _ draw: (String) -> Draw, add: (String, String, Bytes, Bytes?) -> Void
    ) {
        let around = fixture.seal([], Draw(file: "testkit", id: 1)).fields.count + 72
        for (name, size) in [("one-chunk", 65_536), ("two-chunks", 131_072)] {
            for (suffix, difference, comment) in [
                ("", 0, "a payload of exactly"), ("-less", -1, "one byte less than"),
                ("-more", 1, "one byte more than"),
            ] {
                let content = Bytes(repeating: 0x2e, count: size - around + difference)
                let file = fixture.seal(content, draw(name + suffix))
                add(name + suffix, "\(comment) \(name.replacing("-", with: " ")), before padding", file.bytes, content)
            }
        }
        let content = Bytes(repeating: 0x2e, count: 131_072 - around)
        let file = fixture.seal(content, draw("last"))
        let (start, key) = (
            join(file.header, file.sealing.salt, file.sealing.commitment), file.sealing.messageKey
        )
        let (first, second) = (file.payload.at(0, 65_536), file.payload.at(65_536, 65_536))
        func chunk(_ bytes: Bytes, _ index: Int, last: Bool) -> Bytes {
            Sealing.chunk(bytes, key: key, index: index, isLast: last)
        }
        let whole = file.sealing.chunks
        add("last-missing", "the second of two full chunks is missing", start + whole[0], nil)
        add(
            "last-early", "the first chunk sealed as the last, and the second behind it",
            join(start, chunk(first, 0, last: true), whole[1]), nil)
        add(
            "last-alone", "the first chunk sealed as the last, and nothing behind it",
            start + chunk(first, 0, last: true), nil)
        add(
            "last-unmarked", "the second chunk not sealed as the last",
            join(start, whole[0], chunk(second, 1, last: false)), nil)
        add(
            "last-empty", "an empty chunk behind two full ones",
            join(start, whole[0], chunk(second, 1, last: false), chunk([], 2, last: true)), nil)
        add("last-twice", "the last chunk twice", join(start, whole[0], whole[1], whole[1]), nil)
        add(
            "last-cut", "the last byte of the second chunk is cut off before it is sealed",
            join(start, whole[0], chunk(Bytes(second.dropLast()), 1, last: true)), nil)
        add(
            "numbered-from-one", "chunks numbered from 1",
            join(start, chunk(first, 1, last: false), chunk(second, 2, last: true)), nil)
    }
}
