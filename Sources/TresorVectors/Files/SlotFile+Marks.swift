// SPDX-License-Identifier: Apache-2.0

/// Marks of a person about tresors, SPEC §8.5.
extension VectorFile {
    func addHomeMarks() {
        group("openMarks")
        let gwen = Cast.gwenRenewed
        let draw = draw()
        func homeKey(_ seed: Bytes) -> Bytes { derive(seed, "tresor/v1/home-key") }
        let tresors = ["one", "two", "three"].map { draw($0, 32) }.sorted { $0.lexicographicallyPrecedes($1) }
        let rows: [(Bytes, UInt8)] = [(tresors[0], 1), (tresors[1], 2), (tresors[2], 3)]
        func object(_ rows: [(Bytes, UInt8)]) -> Bytes { preamble("tresorY1") + join(rows.map { $0.0 + [$0.1] }) }
        func seal(_ plain: Bytes, label: String = "tresor/v1/marks-seal", by seed: Bytes = gwen.newest.seed) -> Bytes {
            Sealing(homeKey(seed), label, gwen.user, plain, salt: draw("salt", 24)).bytes
        }
        func input(_ sealed: Bytes) -> Values {
            (["chain": gwen.chain, "S": gwen.newest.seed, "sealed marks": sealed] as Values).with(
                "previous", gwen.previous)
        }
        func output(_ rows: [(Bytes, UInt8)]) -> Values {
            Values([("tresors", .list(rows.map(\.0))), ("flags", .list(rows.map { [$0.1] }))])
        }
        let base = valid(
            "hidden, confirmed mine, both", in: input(seal(object(rows))),
            mid: ["home key": homeKey(gwen.newest.seed)], out: output(rows))
        valid("none", ["EdgeCase"], in: input(seal(object([]))), out: output([]))
        valid(
            "sealed by the generation before", ["EdgeCase"],
            in: input(seal(object(rows), by: Cast.gwen.newest.seed)), out: output(rows))
        func refuse(_ comment: String, _ flag: String, error: String = "altered", _ sealed: Bytes) {
            invalid(comment, flag, error, base: base, in: ["sealed marks": sealed])
        }
        refuse("tresor ids that fall", "NonCanonical", seal(object(rows.reversed())))
        refuse("one tresor twice", "NonCanonical", seal(object([rows[0], rows[0]])))
        refuse("no flag", "NonCanonical", seal(object([(tresors[0], 0)])))
        refuse("a flag that is not defined", "NonCanonical", seal(object([(tresors[0], 4)])))
        refuse("a byte is missing", "Truncated", seal(Bytes(object(rows).dropLast())))
        refuse(
            "a magic of another release", "WrongMagic", error: "unsupported",
            seal(object(rows).replacing(at: 7, with: [0x32])))
        refuse("version 2", "WrongVersion", error: "unsupported", seal(object(rows).replacing(at: 8, with: [2])))
        refuse("a bit of the tag", "ModifiedTag", { $0.flipped(at: $0.count - 1) }(seal(object(rows))))
        refuse("sealed under the label of names", "WrongLabel", seal(object(rows), label: "tresor/v1/names-seal"))
        refuse("sealed by another identity", "WrongKey", seal(object(rows), by: Cast.fred.newest.seed))
    }
}
