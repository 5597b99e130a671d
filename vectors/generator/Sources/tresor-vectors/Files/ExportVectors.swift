// SPDX-License-Identifier: Apache-2.0

/// An export of a tresor, and the stores that a home notes (SPEC §8.5, §11.1).
struct ExportVectors: TestWriter {
    let file: VectorFile

    func addExport() {
        group("reencode")
        let log = Cast.fullLog()
        let people = [Cast.anna, Cast.bert].sorted { $0.user.lexicographicallyPrecedes($1.user) }
        let chains = people.map { prefixed($0.chain) }
        let wraps = people.flatMap { person in
            [1, 3].map { epoch in
                Wrapping(
                    log.epochs[epoch - 1], tresor: log.tresor, for: person,
                    eseed: draw()("eseed \(epoch) \(hexText(person.user))", 64)
                ).bytes
            }
        }
        func export(
            of tresor: Bytes? = nil, entries: [Bytes]? = nil, cards: [Bytes]? = nil, _ wraps: [Bytes],
            blobs: [Bytes] = []
        ) -> Bytes {
            let parts = [
                (entries ?? log.entries).map(prefixed), cards ?? chains, wraps.map { u16($0.count) + $0 },
                blobs.map(prefixed),
            ]
            return join([preamble("tresorx1"), tresor ?? log.tresor] + parts.map { u32($0.count) + join($0) })
        }
        let object = export(wraps)
        let base = valid(
            "an export: 8 entries, 2 cards, 4 wraps", in: ["magic": ascii("tresorx1"), "object": object],
            out: ["object": object])
        let small = export(entries: [log.entries[0]], cards: [], [])
        valid(
            "one entry alone", ["EdgeCase"], in: ["magic": ascii("tresorx1"), "object": small], out: ["object": small])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("no object of ours", "WrongMagic", object.replacing(at: 0, with: [0x54]))
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("nothing", "Truncated", [])
        refuse("no entry", "Truncated", export(entries: [], cards: [], []))
        refuse("an entry of no bytes", "LengthOverflow", export(entries: [[]], cards: [], []))
        refuse("more entries than bytes", "LengthOverflow", object.replacing(at: 42, with: [255, 255, 255, 255]))
        refuse("cards that fall", "NonCanonical", export(cards: chains.reversed(), wraps))
        refuse("a card twice", "NonCanonical", export(cards: [chains[0], chains[0]], wraps))
        refuse(
            "an entry in the place of a card", "WrongMagic", export(cards: [prefixed(log.entries[1])], wraps),
            error: "unsupported")
        refuse("wraps that fall", "NonCanonical", export(wraps.reversed()))
        refuse("a wrap twice", "NonCanonical", export([wraps[0], wraps[0]]))
        refuse("epochs of one person that fall", "NonCanonical", export([wraps[1], wraps[0]]))
        refuse("wraps of another tresor", "CrossTresor", export(of: draw()("tresor", 32), wraps))
        refuse("a wrap that is cut off", "Truncated", export([Bytes(wraps[0].dropLast())]))
        let blobs = ["a", "b"].map { draw()("blob \($0)", 700) }.sorted {
            hash("tresor/v1/blob-hash", $0).lexicographicallyPrecedes(hash("tresor/v1/blob-hash", $1))
        }
        let records = export(wraps, blobs: blobs)
        valid("with two blobs", in: ["magic": ascii("tresorx1"), "object": records], out: ["object": records])
        refuse("blobs that fall", "NonCanonical", export(wraps, blobs: blobs.reversed()))
        refuse("a blob twice", "NonCanonical", export(wraps, blobs: [blobs[0], blobs[0]]))
        refuse("a blob of no bytes", "LengthOverflow", export(wraps, blobs: [[]]))
        refuse("a blob that is cut off", "Truncated", Bytes(records.dropLast()))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
        group("dearmour")
        valid(
            "an export", in: ["kind": ascii("TRESOR EXPORT"), "text": Armoured.text(small, kind: "TRESOR EXPORT")],
            out: ["bytes": small])
    }

    func addNotedStores() {
        group("reencode")
        let tresors = [draw()("one", 32), draw()("two", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        func noted(_ rows: [(Bytes, Bytes)], roles: UInt8 = 1) -> Bytes {
            join([preamble("tresorn1")] + rows.map { join($0.0, [roles], u16($0.1.count), $0.1) })
        }
        let rows = [
            (tresors[0], ascii("/srv/clinic.db")), (tresors[1], ascii("/home/anna/.local/share/tresor/store.db")),
        ]
        let object = noted(rows)
        let base = valid(
            "two noted stores", in: ["magic": ascii("tresorn1"), "object": object], out: ["object": object])
        let moved = noted([rows[0], (tresors[0], ascii("https://tresor.clinic.example:8443")), rows[1]])
        valid(
            "a tresor that two stores have shown", in: ["magic": ascii("tresorn1"), "object": moved],
            out: ["object": moved])
        for roles in [2, 7] as [UInt8] {
            let several = noted(rows, roles: roles)
            valid(
                "roles \(roles)", ["EdgeCase"], in: ["magic": ascii("tresorn1"), "object": several],
                out: ["object": several])
        }
        let empty = preamble("tresorn1")
        valid(
            "no noted stores", ["EdgeCase"], in: ["magic": ascii("tresorn1"), "object": empty], out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("tresor ids that fall", "NonCanonical", noted(rows.reversed()))
        refuse("one tresor and store twice", "NonCanonical", noted([rows[0], rows[0]]))
        refuse(
            "stores of a tresor that fall", "NonCanonical", noted([(tresors[0], ascii("b")), (tresors[0], ascii("a"))]))
        refuse("a store without a role", "NonCanonical", noted(rows, roles: 0))
        refuse("a role that is none", "NonCanonical", noted(rows, roles: 8))
        refuse("a store without a name", "LengthOverflow", noted([(tresors[0], [])]))
        refuse("a name of 4097 bytes", "Oversize", noted([(tresors[0], zeros(4097))]))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }

    func addKnownServices() {
        group("reencode")
        let audiences = [draw()("one", 32), draw()("two", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        let server = draw()("server", 32)
        func known(_ audiences: [Bytes]) -> Bytes {
            join([preamble("tresora1")] + audiences.map { join($0, server) })
        }
        let object = known(audiences)
        let base = valid(
            "a service at two addresses", in: ["magic": ascii("tresora1"), "object": object],
            out: ["object": object])
        let empty = preamble("tresora1")
        valid(
            "no known services", ["EdgeCase"], in: ["magic": ascii("tresora1"), "object": empty],
            out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("audiences that fall", "NonCanonical", known(audiences.reversed()))
        refuse("one audience twice", "NonCanonical", known([audiences[0], audiences[0]]))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }
}
