// SPDX-License-Identifier: Apache-2.0

/// Writes tests of `openFile`.
protocol FileTestWriter: TestWriter {}

extension FileTestWriter {
    /// The file opens.
    @discardableResult func accept(
        _ comment: String, _ flags: [String], _ fixture: FileFixture, _ file: FileSealing, _ content: Bytes,
        epoch: Int? = nil,
        armoured: Bool = false
    ) -> Int {
        let bytes = armoured ? Armoured.text(file.bytes) : file.bytes
        return valid(
            comment, flags, in: fixture.input(bytes, epoch: epoch),
            mid: ([
                "header": file.header, "fields": file.fields, "D": file.digest, "M": file.message,
                "signature": file.signature,
                "salt": file.sealing.salt, "okm": file.sealing.okm, "k": file.sealing.messageKey,
                "commitment": file.sealing.commitment,
            ] as Values).with("d", file.parts).with("padding size", u64(UInt64(file.padding.count))),
            out: ["content hash": blake2b(32, content), "content size": u64(UInt64(content.count))]
                as Values)
    }
}

/// Sealed files (SPEC §10).
struct FileVectors: FileTestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "file", section: "10",
            purpose: "sealed files: the payload, the author's right, the origin, the reader's expectations")
        let vectors = Self(file: file)
        let faults = FileFaultVectors(file: file)
        file.group("openFile")
        let fixture = FileFixture()
        vectors.addFiles(fixture)
        faults.addHeaderFaults(fixture)
        faults.addPayloadFaults(fixture)
        faults.addRightFaults(fixture)
        faults.addOriginFaults(fixture)
        faults.addExpectationFaults(fixture)
        AuthorStatusVectors(file: file).addAuthorStatus()
        file.group("openFile")
        vectors.addReservedTypes(fixture)
        return file
    }

    /// Contents that are sealed as a file and are none, SPEC §10.5 step 15a.
    private func addReservedTypes(_ fixture: FileFixture) {
        let plain = fixture.seal(fixture.content, draw(), type: "tresor-pack")
        let base = accept("a type that begins almost so", ["EdgeCase"], fixture, plain, fixture.content)
        for type in ["tresor/pack", "tresor/volume", "tresor/"] {
            let file = fixture.seal(fixture.content, draw(), type: type)
            invalid("the type \(type)", "SwappedRecord", "usage", base: base, in: ["file": file.bytes])
        }
    }

    private func addFiles(_ fixture: FileFixture) {
        var first = Log.begun(Draw(file: "people", id: 2), founder: Cast.anna)
        first.grant([Cast.house], role: 3)
        let example = FileSealing(
            ascii("{}"), author: Cast.anna, time: first.time, tresor: first.tresor, epoch: first.current,
            head: first.head(at: 1),
            salt: draw()("salt", 24))
        accept("the file of SPEC §0.1 and Appendix A", ["Normal"], fixture.with(first), example, ascii("{}"))
        accept("the base of what follows: by an owner, at the head", ["Normal"], fixture, fixture.base, fixture.content)
        accept("empty content", ["EdgeCase"], fixture, fixture.seal([], draw()), [])
        for count in [384, 385, 401] {
            let content = draw()("content", count)
            accept(
                "\(count) bytes, at the edge of padding", ["EdgeCase"], fixture, fixture.seal(content, draw()), content)
        }
        let large = draw()("content", 65_536)
        accept("65 536 bytes: two chunks and one part", ["EdgeCase"], fixture, fixture.seal(large, draw()), large)
        let larger = draw()("content", 65_537)
        accept("65 537 bytes: two chunks and two parts", ["EdgeCase"], fixture, fixture.seal(larger, draw()), larger)
        accept(
            "by a writer", ["Normal"], fixture, fixture.seal(fixture.content, draw(), author: Cast.bert),
            fixture.content)
        accept(
            "by a writer from now on", ["Normal"], fixture, fixture.seal(fixture.content, draw(), author: Cast.fred),
            fixture.content)
        let earlier = fixture.seal(fixture.content, draw(), head: 3, epoch: 1)
        accept("sealed at an earlier head and epoch", ["Normal"], fixture, earlier, fixture.content, epoch: 1)
        accept(
            "no type, no record", ["EdgeCase"], fixture, fixture.seal(fixture.content, draw(), type: "", record: ""),
            fixture.content)
        accept(
            "resealed: the first author stays", ["Normal"], fixture, fixture.resealed(earlier, draw()), fixture.content)
        accept(
            "resealed: the first author is out of date by then, and shown so", ["EdgeCase"], fixture,
            fixture.resealed(fixture.seal(fixture.content, draw(), head: 3, epoch: 1, author: Cast.bert), draw()),
            fixture.content)
        accept("armoured", ["Normal"], fixture, fixture.base, fixture.content, armoured: true)
    }
}

/// A log, a file that opens, and ways to make others.
struct FileFixture {
    var log = Cast.fullLog()
    let content = ascii("{\"resourceType\":\"CarePlan\",\"status\":\"active\"}")

    func with(_ log: Log) -> FileFixture {
        var fixture = self
        fixture.log = log
        return fixture
    }

    var base: FileSealing { seal(content, Draw(file: "file", id: 0)) }

    func input(_ file: Bytes, epoch: Int? = nil) -> Values {
        let keys = epoch.map { log.epochs[$0 - 1] } ?? log.current
        return Values([
            ("tresor", .bytes(log.tresor)), ("log", .list(log.entries)), ("TK", .bytes(keys.tk)),
            ("file", .bytes(file)),
        ])
    }

    func seal(
        _ content: Bytes, _ draw: Draw, head: Int? = nil, epoch: Int? = nil, author: Person = Cast.anna,
        generation: Int? = nil,
        type: String = "application/json", record: String = "plan.json", time: UInt64? = nil, signer: Person? = nil,
        origin: FileSealing? = nil, originBytes: Bytes? = nil, faults: FileSealing.Faults = .init()
    ) -> FileSealing {
        FileSealing(
            content, type: type, record: record, author: author, generation: generation, time: time ?? log.time,
            tresor: log.tresor, epoch: epoch.map { log.epochs[$0 - 1] } ?? log.current,
            head: log.head(at: head ?? log.entries.count - 1), origin: origin, originBytes: originBytes,
            salt: draw("salt", 24),
            signer: signer, faults: faults)
    }

    func resealed(_ file: FileSealing, _ draw: Draw, author: Person = Cast.anna) -> FileSealing {
        seal(content, draw, author: author, origin: file)
    }
}

/// Armour as SPEC §4.2 says.
enum Armoured {
    private static let alphabet = ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    static func base64(_ bytes: Bytes) -> Bytes {
        var text: Bytes = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = Bytes(bytes[start..<min(start + 3, bytes.count)])
            let padded = group + zeros(3 - group.count)
            let value = Int(padded[0]) << 16 | Int(padded[1]) << 8 | Int(padded[2])
            for index in 0..<4 { text.append(index <= group.count ? alphabet[value >> (18 - 6 * index) & 63] : 0x3d) }
        }
        return text
    }

    static func text(_ bytes: Bytes, kind: String = "TRESOR FILE", eol: String = "\n") -> Bytes {
        let text = base64(bytes)
        let lines = stride(from: 0, to: text.count, by: 64).map {
            Bytes(text[$0..<min($0 + 64, text.count)]) + ascii(eol)
        }
        return join(ascii("-----BEGIN \(kind)-----\(eol)"), join(lines), ascii("-----END \(kind)-----\(eol)"))
    }
}
