// SPDX-License-Identifier: Apache-2.0

/// The sealed names and marks of a home (SPEC §8.5).
struct HomeVectors: TestWriter {
    let file: VectorFile

    func addHomeNames() {
        group("openNames")
        let gwen = Cast.gwenRenewed
        let key = derive(gwen.newest.seed, "tresor/v1/home-key")
        let tresors = [draw()("one", 32), draw()("two", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        func sealed(_ rows: [(Bytes, Bytes)], label: String = "tresor/v1/names-seal", key: Bytes? = nil) -> Bytes {
            let plain = join(rows.map { join($0.0, u16($0.1.count), $0.1) })
            return Sealing(
                key ?? derive(gwen.newest.seed, "tresor/v1/home-key"), label, gwen.user, plain,
                salt: draw()("salt", 24)
            ).bytes
        }
        func input(_ sealed: Bytes) -> Values {
            (["chain": gwen.chain, "S": gwen.newest.seed, "sealed names": sealed] as Values).with(
                "previous", gwen.previous)
        }
        let names = [ascii("plans"), ascii("plans of last year")]
        let rows = Array(zip(tresors, names))
        let base = valid(
            "two tresors", in: input(sealed(rows)), mid: ["home key": key],
            out: Values([("tresors", .list(tresors)), ("names", .list(names))]))
        valid(
            "none", ["EdgeCase"], in: input(sealed([])), out: Values([("tresors", .list([])), ("names", .list([]))]))
        func refuse(_ comment: String, _ flag: String, _ sealed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed names": sealed])
        }
        refuse("tresor ids that fall", "NonCanonical", sealed(rows.reversed()))
        refuse("one tresor twice", "NonCanonical", sealed([rows[0], rows[0]]))
        refuse("an empty name", "LengthOverflow", sealed([(tresors[0], [])]))
        refuse("a name of 257 bytes", "Oversize", sealed([(tresors[0], Bytes(repeating: 0x6e, count: 257))]))
        refuse("a line end in a name", "ControlInName", sealed([(tresors[0], ascii("a\n"))]))
        refuse("a bit of the tag", "ModifiedTag", { $0.flipped(at: $0.count - 1) }(sealed(rows)))
        refuse("sealed under the label of names in a log", "WrongLabel", sealed(rows, label: "tresor/v1/name-seal"))
        refuse(
            "sealed by another identity", "WrongKey",
            sealed(rows, key: derive(Cast.fred.newest.seed, "tresor/v1/home-key")))
        valid(
            "sealed by the generation before", ["EdgeCase"],
            in: input(sealed(rows, key: derive(Cast.gwen.newest.seed, "tresor/v1/home-key"))),
            out: Values([("tresors", .list(tresors)), ("names", .list(names))]))
    }

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
