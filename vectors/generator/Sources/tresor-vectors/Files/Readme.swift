// SPDX-License-Identifier: Apache-2.0

@testable import TresorCore

/// The page vectors/README.md with its generated tables.
enum Readme {
    static func text(_ files: [VectorFile], _ scenarios: [Scenario], _ kitCount: Int) -> String {
        var text = """
            # Test vectors

            The package in `generator/` writes them; `--check` in place of `--write` compares. Licence of the vectors: CC0.
            Section numbers are those of SPEC.

            ```
            $ swift run --package-path vectors/generator -Xcxx -O2 tresor-vectors --write vectors
            ```

            SPEC's Appendix E (spec/vectors.md) defines each file, test and operation. The files alone do not suffice:
            E.4 also says what `accumulate` and `foldCrowd` generate.
            This page lists the files, which change with each regeneration, and the two programs.
            A test with `base` has all inputs of that earlier test of its file, of any group, except those that its own `in` names.

            ## Running them

            ```
            $ swift run -Xcxx -O2 tresor-selftest --vectors vectors
            $ python3 -m venv .venv && .venv/bin/pip install -r vectors/requirements.txt && .venv/bin/python vectors/verify.py
            ```

            Both print a line for each file, or for all files of a directory together, in the order of `index.json`:
            "SPEC ", the section in 5 columns, the name in 14, the counts. The last line is `N passed, N failed`. A skipped
            suite prints a line `skipped: …` and is not counted. Both exit 0 only if nothing failed and the counts are those
            of `index.json`. `verify.py` prints the cause of each failure on standard error, and fails without its
            libraries. `verify/sections` has a file for each part of SPEC, `verify/operations` one for each subject of the
            vectors. `verify.py` also has

            * `--mutate`: changes bytes of every object of every valid test and counts the detected changes; the sums of the
              index do not apply,
            * `--live PATH`: makes a home, a log and files that the program `tresor` at PATH must open, opens those of that
              program, and reads the records that it compacted,
            * `--live-server PATH`: starts the program `tresor-server` at PATH with open registration, and speaks to it,
            * `--peers PYTHON`: speaks OPAQUE with the packages of `requirements-peers.txt`, which the program PYTHON has, as
              client and as server (`scripts/opaque-peers`),
            * `--nightly`, as `tresor-selftest --nightly`: runs `nightly.json`, the cases of `accumulated.json` a million
              times each (made by the generator with `-c release -Xswiftc -enable-testing` and `--write-nightly vectors`; not in
              the index),
            * `--tables FILE`: prints the table of records of each line of FILE; a test of this package compares its own,
            * `--only NAME`, `--ignore-sums`, `--verbose`.

            `tresor-selftest --external DIR` runs the published vectors of other projects in DIR: `crypto/wycheproof`,
            `crypto/blake2b`, `crypto/argon2`, `crypto/ed25519` (CCTV and speccheck), `crypto/hpke-pq`, `crypto/xwing`,
            `crypto/bip39`. Each set has one expected count of cases.

            ## Files

            | file | SPEC | tests | invalid | purpose |
            |---|---|---|---|---|

            """
        for file in files {
            text += "| `\(file.name).json` | \(file.section) | \(file.tests.count) | "
            text += "\(file.negativeCount) | \(file.purpose) |\n"
        }
        for scenario in scenarios {
            text += "| `scenario/\(scenario.name).json` | 9.8 | \(scenario.steps.count) | "
            text += "\(scenario.negativeCount) | \(scenario.purpose) |\n"
        }
        text += "| `testkit/…` | 10.5 | \(kitCount) | | whole sealed files |\n" + archiveText
        return text + rules(files)
    }

    private static let archiveText = """

        `archive/vVERSION/` has the objects of a release, which every later release must open (none exists before the first
        release). It has the homes of `anna` (founder, renewed once), `dr-house` (writer) and `eve` (reader from now on),
        their store, their armoured cards, sealed files `files/NAME.tresor` beside their contents `files/NAME`, recovery
        kits, and the `password` of all three (with the lowest cost). `SHA256SUMS` lists the files; they are never edited.
        `scripts/archive` writes an archive for a release. The tests of this package open it, not the two programs: the
        layout of a store on disk is private to an implementation (SPEC §11).

        """

    private static func rules(_ files: [VectorFile]) -> String {
        var text = """

            ## Rules and their tests

            The tests of `log.json` that break each rule of SPEC §9.3. With one rule disabled, some of its tests fail, and no
            test of another rule does.

            | rule | tests |
            |---|---|

            """
        guard let log = files.first(where: { $0.name == "log" }) else { return text }
        for rule in Rule.allCases.map(\.rawValue) {
            let tests = log.tests.filter { $0.rule == rule }.map { "\($0.id)" }
            text += "| R\(rule) | \(tests.joined(separator: ", ")) |\n"
        }
        return text
    }
}
