// SPDX-License-Identifier: Apache-2.0

/// Commitments, back-links and sealed names (SPEC §9.5).
struct EpochVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "epoch", section: "9.5", purpose: "commitments, back-links, sealed names")
        let vectors = Self(file: file)
        let log = Cast.fullLog()
        vectors.addCommitments(log)
        vectors.addBackLinks(log)
        vectors.addNames(log)
        vectors.addEmptyBackLinks(log)
        return file
    }

    private func addCommitments(_ log: Log) {
        group("checkKeys")
        func input(_ epoch: EpochSecret, _ keys: Bytes) -> Values {
            ["tresor": log.tresor, "epoch": epoch.statement, "keys": keys]
        }
        let epoch = log.epochs[1]
        let middle: Values = [
            "content_commitment": EpochSecret.commitment("tresor/v1/commit-tk", log.tresor, epoch.tk),
            "history_commitment": EpochSecret.commitment("tresor/v1/commit-hk", log.tresor, epoch.hk),
        ]
        let base = valid(
            "TK and HK", in: input(epoch, epoch.tk + epoch.hk), mid: middle, out: ["epoch": u64(2)])
        let alone = valid("TK alone", in: input(epoch, epoch.tk), mid: middle, out: ["epoch": u64(2)])
        func refuse(_ comment: String, _ flag: String, _ keys: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["keys": keys])
        }
        refuse("a bit of TK", "CommitmentMismatch", epoch.tk.flipped(at: 0) + epoch.hk)
        refuse("a bit of HK", "CommitmentMismatch", epoch.tk + epoch.hk.flipped(at: 31))
        refuse("the keys of epoch 1", "WrongEpoch", log.epochs[0].tk + log.epochs[0].hk)
        refuse("TK twice", "CommitmentMismatch", epoch.tk + epoch.tk)
        refuse("33 bytes", "LengthOverflow", epoch.tk + [0])
        refuse("31 bytes", "Truncated", Bytes(epoch.tk.dropLast()))
        invalid("another tresor", "WrongTresor", "altered", base: base, in: ["tresor": log.tresor.flipped(at: 0)])
        invalid(
            "another tresor, TK alone", "WrongTresor", "altered", base: alone,
            in: ["tresor": log.tresor.flipped(at: 31)])
    }

    private func addBackLinks(_ log: Log) {
        group("openBackLink")
        func input(_ epochs: [EpochSecret]) -> Values {
            let last = epochs[epochs.count - 1]
            return (["tresor": log.tresor, "keys": last.tk + last.hk] as Values).with("epochs", epochs.map(\.statement))
        }
        func add(_ comment: String, _ flag: String, _ epochs: [EpochSecret], _ links: [EpochSecret]) -> Int {
            let sealing = epochs[epochs.count - 1].backLink
            return valid(
                comment, [flag], in: input(epochs), mid: ["okm": sealing?.okm ?? [], "k": sealing?.messageKey ?? []],
                out: Values([]).with("links", links.map(\.link)))
        }
        let base = add("epoch 3 yields epoch 2", "Normal", log.epochs, [log.epochs[1]])
        _ = add("epoch 2 yields epoch 1", "Normal", Array(log.epochs[..<2]), [log.epochs[0]])
        func third(_ links: [Bytes], tk: Bytes? = nil, hk: Bytes? = nil) -> EpochSecret {
            let epoch = log.epochs[2]
            return EpochSecret(
                tresor: log.tresor, number: 3, tk: tk ?? epoch.tk, hk: hk ?? epoch.hk, links: links,
                salt: draw()("salt", 24))
        }
        let both = third([log.epochs[1].link, log.epochs[0].link])
        _ = add(
            "two links repair a spoiled one", "EdgeCase", [log.epochs[0], log.epochs[1], both],
            [log.epochs[1], log.epochs[0]])
        let spoiledSecond = third([log.epochs[1].link, log.epochs[0].link.flipped(at: 8)])
        _ = add(
            "a second link that does not hold is not believed; the first is", "EdgeCase",
            [log.epochs[0], log.epochs[1], spoiledSecond], [log.epochs[1]])
        _ = add(
            "the first link is of an epoch further below", "EdgeCase",
            [log.epochs[0], log.epochs[1], third([log.epochs[0].link])], [log.epochs[0]])
        _ = add("no link: its author reached nothing", "EdgeCase", [log.epochs[0], log.epochs[1], third([])], [])
        func refuse(_ comment: String, _ flag: String, _ epoch: EpochSecret) {
            invalid(
                comment, flag, "altered", base: base,
                in: Values([]).with("epochs", [log.epochs[0].statement, log.epochs[1].statement, epoch.statement])
                    .with("keys", epoch.tk + epoch.hk))
        }
        refuse("a TK that was not committed to", "BackLinkWrong", third([log.epochs[1].link.flipped(at: 8)]))
        refuse("an HK that was not committed to", "BackLinkWrong", third([log.epochs[1].link.flipped(at: 71)]))
        refuse("the first link is of epoch 3", "EpochReused", third([log.epochs[2].link]))
        refuse("epochs rise", "ReorderedEntry", third([log.epochs[0].link, log.epochs[1].link]))
        refuse("the same epoch twice", "EpochReused", third([log.epochs[1].link, log.epochs[1].link]))
        refuse("a link of epoch 0", "EpochSkipped", third([log.epochs[1].link, u64(0) + zeros(64)]))
        refuse("71 bytes", "Truncated", third([Bytes(log.epochs[1].link.dropLast())]))
        refuse("73 bytes", "TrailingData", third([log.epochs[1].link + [0]]))
        let sealed = log.epochs[2].backLink?.bytes ?? []
        for (index, flag) in [
            (0, "ModifiedSalt"), (24, "ModifiedCommitment"), (56, "ModifiedCiphertext"),
            (sealed.count - 1, "ModifiedTag"),
        ] {
            let statement = log.epochs[2].statement
            let spoiled = statement.flipped(at: statement.count - sealed.count + index)
            invalid(
                "a bit of the sealed link, byte \(index)", flag, "altered", base: base,
                in: Values([]).with("epochs", [log.epochs[0].statement, log.epochs[1].statement, spoiled]))
        }
        invalid("another HK", "WrongKey", "altered", base: base, in: ["keys": log.epochs[2].tk + log.epochs[1].hk])
        invalid("another tresor", "WrongTresor", "altered", base: base, in: ["tresor": log.tresor.flipped(at: 0)])
        let moved = Sealing(
            log.epochs[2].hk, "tresor/v1/backlink-seal", log.tresor + u64(2), log.epochs[1].link,
            salt: draw()("salt", 24))
        invalid(
            "sealed for another epoch", "WrongContext", "altered", base: base,
            in: Values([]).with(
                "epochs",
                [
                    log.epochs[0].statement, log.epochs[1].statement,
                    Bytes(log.epochs[2].statement.dropLast(moved.bytes.count)) + moved.bytes,
                ]))
        let labelled = Sealing(
            log.epochs[2].hk, "tresor/v1/name-seal", log.tresor + u64(3), log.epochs[1].link, salt: draw()("salt", 24))
        invalid(
            "sealed under the label of names", "WrongLabel", "altered", base: base,
            in: Values([]).with(
                "epochs",
                [
                    log.epochs[0].statement, log.epochs[1].statement,
                    Bytes(log.epochs[2].statement.dropLast(labelled.bytes.count)) + labelled.bytes,
                ]))
    }

    private func addEmptyBackLinks(_ log: Log) {
        group("openBackLink")
        let third = log.epochs[2]
        func statements(_ backLink: Bytes) -> Values {
            let statement = EpochSecret.statement(
                number: 3, content: EpochSecret.commitment("tresor/v1/commit-tk", log.tresor, third.tk),
                history: EpochSecret.commitment("tresor/v1/commit-hk", log.tresor, third.hk), backLink: backLink)
            return Values([]).with("epochs", [log.epochs[0].statement, log.epochs[1].statement, statement])
        }
        let input: Values = ["tresor": log.tresor, "keys": third.tk + third.hk]
        let base = valid(
            "epoch 3, again", in: Values(input.pairs + statements(third.backLink?.bytes ?? []).pairs),
            out: Values([]).with("links", [log.epochs[1].link]))
        invalid("an empty back-link", "BackLinkWrong", "altered", base: base, in: statements([]))
        invalid(
            "the back-link of epoch 1, which has none", "BackLinkWrong", "altered",
            in: (["tresor": log.tresor, "keys": log.epochs[0].tk + log.epochs[0].hk] as Values).with(
                "epochs", [log.epochs[0].statement]))
    }

    private func addNames(_ log: Log) {
        group("openName")
        let epoch = log.epochs[0]
        func sealed(_ plaintext: Bytes, label: String = "tresor/v1/name-seal") -> Sealing {
            Sealing(epoch.tk, label, join(log.tresor, u64(1), u64(0)), plaintext, salt: draw()("salt", 24))
        }
        func input(_ sealing: Sealing) -> Values {
            ["TK": epoch.tk, "tresor": log.tresor, "epoch": u64(1), "sequence": u64(0), "sealed name": sealing.bytes]
        }
        func add(_ comment: String, _ flag: String, _ name: Bytes, _ kind: Bytes) -> Int {
            let sealing = sealed(Log.namePlaintext(name, kind))
            return valid(
                comment, [flag], in: input(sealing),
                mid: ["plaintext": Log.namePlaintext(name, kind), "okm": sealing.okm],
                out: ["name": name, "kind": kind])
        }
        let name = ascii("interventions")
        let base = add("a name without kind", "Normal", name, [])
        _ = add("a name with a kind", "Normal", name, ascii("fhir"))
        _ = add("256 bytes each", "EdgeCase", Bytes(repeating: 0x61, count: 256), Bytes(repeating: 0x62, count: 256))
        func refuse(_ comment: String, _ flag: String, _ plaintext: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed name": sealed(plaintext).bytes])
        }
        let plain = Log.namePlaintext(name, [])
        refuse("an empty name", "NonCanonical", Log.namePlaintext([], []))
        refuse("padding behind the name that is not zero", "BadPadding", plain.replacing(at: 257, with: [1]))
        refuse("padding behind the kind that is not zero", "BadPadding", plain.replacing(at: 515, with: [1]))
        refuse("a control character", "ControlInName", Log.namePlaintext([0x61, 0x0a], []))
        refuse("a kind that is not UTF-8", "BadUTF8", Log.namePlaintext(name, [0xc0, 0x80]))
        refuse("a length of 257", "LengthOverflow", plain.replacing(at: 0, with: u16(257)))
        invalid("another epoch", "WrongEpoch", "altered", base: base, in: ["epoch": u64(2)])
        invalid("another entry", "WrongContext", "altered", base: base, in: ["sequence": u64(1)])
        invalid("another tresor", "WrongTresor", "altered", base: base, in: ["tresor": log.tresor.flipped(at: 0)])
        invalid("another key", "WrongKey", "altered", base: base, in: ["TK": log.epochs[1].tk])
        invalid(
            "sealed as a file", "WrongLabel", "altered", base: base,
            in: ["sealed name": sealed(plain, label: "tresor/v1/file-seal").bytes])
        invalid(
            "587 bytes", "Truncated", "altered", base: base, in: ["sealed name": Bytes(sealed(plain).bytes.dropLast())])
        invalid("589 bytes", "TrailingData", "altered", base: base, in: ["sealed name": sealed(plain).bytes + [0]])
    }
}
