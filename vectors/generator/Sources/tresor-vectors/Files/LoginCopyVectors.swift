// SPDX-License-Identifier: Apache-2.0

/// Login copies, and the log-ins that a home knows of (SPEC §8, §20.5).
struct LoginCopyVectors: TestWriter {
    let file: VectorFile

    private var exportKey: Bytes { draw(0)("export key", 64) }
    private var record: Bytes { draw(0)("record", 192) }
    private var server: Bytes { draw(0)("server id", 32) }

    /// A login copy of a person, whose slot any change may touch.
    private func copy(of person: Person = Cast.gwenRenewed, revision: UInt64 = 1) -> IdentityFileWriter {
        var writer = IdentityFileWriter(person, draw(0))
        writer.slots = [writer.loginSlot(exportKey, server: server, revision: revision)]
        return writer
    }

    /// Identity files with such a slot: the form alone.
    func addFiles() {
        group("readIdentityFile")
        let writer = copy()
        let base = valid("a login copy", in: ["file": writer.bytes], out: ["file": writer.bytes])
        let last = copy(revision: .max).bytes
        valid("the greatest revision", ["EdgeCase"], in: ["file": last], out: ["file": last])
        func refuse(_ comment: String, _ flag: String, _ slots: [Bytes]) {
            var changed = writer
            changed.slots = slots
            invalid(comment, flag, "altered", base: base, in: ["file": changed.bytes])
        }
        let login = writer.slots[0]
        let kit = writer.kitSlot(draw(0)("K", 32))
        let second =
            IdentityFileWriter.fields(kind: 4, id: writer.id("other"), since: 0, join(server, u64(2))) + zeros(104)
        refuse("a log-in slot before a kit slot", "NonCanonical", [login, kit])
        refuse("a log-in slot behind a kit slot", "NonCanonical", [kit, login])
        refuse("two log-in slots", "NonCanonical", [login, second])
        refuse("revision 0", "NonCanonical", [writer.loginFields(server: server, revision: 0) + zeros(104)])
        refuse("a log-in slot that is cut", "Truncated", [Bytes(login.dropLast())])
        refuse(
            "a since beyond the year 9999", "Oversize",
            [IdentityFileWriter.fields(kind: 4, id: writer.id("x"), since: .max, join(server, u64(1))) + zeros(104)])
    }

    /// Copies that an export key opens.
    func addCopies() {
        group("openLogin")
        let writer = copy()
        func output(_ copy: IdentityFileWriter, _ revision: UInt64 = 1) -> Values {
            [
                "user": copy.person.user, "generation": u32(copy.person.generation), "server id": server,
                "revision": u64(revision), "record hash": hash("tresor/v1/login-record", record),
                "copy hash": hash("tresor/v1/login-copy", copy.bytes),
            ]
        }
        let base = valid(
            "with two generations",
            in: ["file": writer.bytes, "export key": exportKey, "record": record],
            mid: [
                "slot-login": IdentityFileWriter.loginKey(exportKey, server: server), "S": writer.person.newest.seed,
                "tag": IdentityFileWriter.tag(writer.person.newest.seed, writer.untagged),
            ], out: output(writer))
        let later = copy(of: Cast.anna, revision: .max)
        valid(
            "generation 0, the greatest revision", ["EdgeCase"],
            in: ["file": later.bytes, "export key": exportKey, "record": record], out: output(later, .max))
        let other = exportKey.flipped(at: 63)
        valid(
            "another second half of the export key", ["EdgeCase"],
            in: ["file": writer.bytes, "export key": other, "record": record], out: output(writer))
        addCopyFaults(writer, base: base)
    }

    private func addCopyFaults(_ writer: IdentityFileWriter, base: Int) {
        func refuse(_ comment: String, _ flag: String, _ file: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["file": file])
        }
        /// The same slot with other bytes in it, and a tag over all.
        func with(_ slot: Bytes) -> Bytes {
            var changed = writer
            changed.slots = [slot]
            return changed.bytes
        }
        let slot = writer.slots[0]
        invalid(
            "another export key", "WrongKey", "altered", base: base, in: ["export key": exportKey.flipped(at: 0)])
        refuse("another server", "WrongContext", with(slot.flipped(at: 25)))
        refuse("another revision", "WrongContext", with(slot.flipped(at: 64, bit: 2)))
        refuse("another since", "WrongContext", with(slot.flipped(at: 24)))
        refuse("another slot id", "WrongContext", with(slot.flipped(at: 1)))
        refuse("a bit of the sealed seed", "ModifiedCiphertext", with(slot.flipped(at: 65 + 56)))
        refuse(
            "sealed under the second half of the export key", "WrongKey",
            with(
                writer.slot(
                    Bytes(slot.prefix(65)), key: derive(exportKey.at(32, 32), "tresor/v1/slot-login", server),
                    tag: "login")))
        refuse(
            "sealed under the label of device slots", "WrongLabel",
            with(
                writer.slot(
                    Bytes(slot.prefix(65)), key: derive(exportKey.at(0, 32), "tresor/v1/slot-device", server),
                    tag: "login")))
        refuse(
            "the seed of somebody else", "SwappedSlot",
            with(
                writer.slot(
                    Bytes(slot.prefix(65)), key: IdentityFileWriter.loginKey(exportKey, server: server),
                    seed: Cast.fred.newest.seed, tag: "foreign")))
        refuse("a bit of the tag", "ModifiedTag", writer.bytes.flipped(at: writer.bytes.count - 1))
        refuse("a byte behind", "TrailingData", writer.bytes + [0])
        let kit = writer.kitSlot(draw(0)("K", 32))
        refuse("a kit copy", "SwappedSlot", with(kit))
        var both = writer
        both.slots = [slot, kit]
        refuse("beside a kit slot", "NonCanonical", both.bytes)
    }

    /// The log-ins that a home keeps.
    func addKnownLogins() {
        group("reencode")
        let fixture = ServiceFixture()
        let others = [draw()("one", 32), draw()("two", 32)]
        let servers = ([fixture.serverID] + others).sorted { $0.lexicographicallyPrecedes($1) }
        let login = fixture.login(revision: 3, record: draw()("record", 32), copy: draw()("copy", 32))
        func row(_ server: Bytes, failures: UInt8 = 0, failed: UInt64 = 0) -> Bytes {
            let statement: Bytes = server == fixture.serverID ? [222] + login : [0]
            return join(server, statement, [failures], u64(failed))
        }
        func known(_ rows: [Bytes]) -> Bytes { preamble("tresorU1") + join(rows) }
        let object = known(servers.map { row($0, failures: 2, failed: 1_767_300_000) })
        let base = valid(
            "three services, one with a statement", in: ["magic": ascii("tresorU1"), "object": object],
            out: ["object": object])
        let edges = [
            ("no known log-ins", known([])),
            ("255 failures, at the last time", known([row(fixture.serverID, failures: 255, failed: latestTime)])),
            ("a statement without a record", known([join(fixture.serverID, [222], fixture.login(), [0], u64(0))])),
        ]
        for (comment, object) in edges {
            valid(
                comment, ["EdgeCase"], in: ["magic": ascii("tresorU1"), "object": object], out: ["object": object])
        }
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("server ids that fall", "NonCanonical", known(servers.reversed().map { row($0) }))
        refuse("one service twice", "NonCanonical", known([row(servers[0]), row(servers[0])]))
        refuse(
            "the statement of another service", "WrongContext",
            known([join(others[0], [222], login, [0], u64(0))]))
        refuse(
            "a statement of 221 bytes", "LengthOverflow",
            known([join(fixture.serverID, [221], Bytes(login.dropLast()), [0], u64(0))]))
        refuse(
            "a statement of another release", "WrongMagic",
            known([join(fixture.serverID, [222], login.replacing(at: 7, with: [0x32]), [0], u64(0))]),
            error: "unsupported")
        refuse(
            "a statement with revision 0", "NonCanonical",
            known([join(fixture.serverID, [222], fixture.login(revision: 0), [0], u64(0))]))
        refuse("a time after the last", "Oversize", known([row(others[0], failures: 1, failed: latestTime + 1)]))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }
}
