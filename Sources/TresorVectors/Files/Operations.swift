// SPDX-License-Identifier: Apache-2.0

/// What a program does with the tests of an operation, in the words of vectors/README.md.
enum Operations {
    static let table: [(name: String, file: String, input: String, output: String)] = [
        (
            "reencode", "encoding", "`magic` (which object is wanted), `object`",
            """
            the `object`, decoded and encoded again. `tresorC1` is a chain, `tresorF1` a sealed file in binary, of which the header and the possible size are read; nothing \
            is opened, no entry's signature is verified
            """
        ),
        (
            "evidence", "encoding", "`tresor`, `sequence`, `hash` (the pinned head), `verified`, `shown`",
            "`evidence` and `evidence hash`, SPEC §9.8"
        ),
        ("dearmour", "encoding", "`kind` (the words behind BEGIN), `text`", "`bytes`, SPEC §4.2"),
        ("id", "encoding", "`id`", "`text`, SPEC §4.3"),
        (
            "namedBy", "encoding", "`typed`, `id`",
            "`id`, if the typed characters stand for it, else `not_found`; SPEC §4.3"
        ),
        ("readName", "text", "`name`", "`name`, SPEC §4.4, rule of readers"),
        ("typeName", "text", "`typed`", "`name`, SPEC §4.4, rule of writers"),
        ("typeNumber", "text", "`typed`", "`digits` and `number-shown`, SPEC §4.5"),
        ("readKit", "text", "`words`", "`K`, and its `words` written again; SPEC §8.2"),
        ("exitCode", "text", "`error`, its name", "`exit code`, SPEC §12; another name is `usage`"),
        (
            "readChain", "identity", "`chain`",
            "`user`, `handle`, `generation` (u32), `card hash` and `number` (30 digits) of the newest card; SPEC §7.3"
        ),
        ("compareNumber", "identity", "`chain`, `typed`", "`number`, SPEC §7.5"),
        (
            "trust", "identity", "`pins`, `chain`",
            """
            `trust` in a home that has the pins, and the `identity file` if there is one; results other than *me* and *verified* are `unverified`; SPEC §7.5
            """
        ),
        (
            "founderTrust", "identity", "`tresor`, `log`, `pins`, `identity file`",
            "`trust`: founderTrust(fold(tresor, log)) in a home with these pins and this identity, and without marks, SPEC §7.5"
        ),
        (
            "pin", "identity", "`pins`, `chain`, `replacing` (00 or 01), `now`",
            "`pins`: the Pins object after pin(chain, replacing) at the time given, SPEC §7.5"
        ),
        (
            "openNames", "slots", "`chain`, `S`, `previous` (an identity, as in `openWrap`), `sealed names`",
            "`tresors` and `names`, in the order in which they stand; SPEC §8.5"
        ),
        (
            "setPassword", "password", "`typed`",
            "`prepared`, SPEC §8.1; `usage` for what may not become a password"
        ),
        (
            "act", "act",
            """
            `tresor`, `log` (folds to the state), `now` (the clock); of the home: `identity file` and `pins`; the identity that acts: `chain`, `S`, `previous`; `act`: "share" with `people` (chains), \
            `role` (u8), `from now` (00 or 01), `not after` (u64, absent for none); "revoke" with `users`; "leave"; "rotate"; "rename" with `name`; "renew"
            """,
            """
            the effect, by steps 3 to 6 of perform (SPEC §9.7), in a home whose marks have the tresor as *confirmed mine*; nothing is settled, rotated or looked up before: `admitted`, `changed`, `dismissed`, `already` (user ids, rising), `remaining` (u64, \
            members afterwards), `epoch` (u64, the one that begins; 0 for none), `renames` (00 or 01), `generation` (u32, the one that follows; 0 for none)
            """
        ),
        ("readIdentityFile", "slots", "`file`", "the `file`, decoded and encoded again; SPEC §8"),
        (
            "openWithKit", "slots", "`file`, `words`",
            "`user` and `generation` of the identity: readKit, then openSlot with the kit slot, none being `wrong_password`"
        ),
        (
            "openWithDevice", "slots", "`file`, `device half`, `store half`, `now`",
            "`user` and `generation`: SPEC §8.3, with the store's half and the time given"
        ),
        ("prepare", "password", "`typed`", "`prepared`, SPEC §8.1"),
        ("openWithPassword", "password", "`file`, `typed`", "`user` and `generation`, SPEC §8.1"),
        (
            "checkKeys", "epoch",
            "`tresor`, `epoch` (its statement), `keys` (TK or TK ‖ HK), `known` (Links of epochs whose keys are known)",
            "`epoch`, its number; SPEC §9.5. Another size of `keys` is `altered`"
        ),
        (
            "openBackLink", "epoch",
            "`tresor`, `keys` (TK ‖ HK), `epochs` (statements from 1 on; the last is the one the keys are of)",
            "`links`, SPEC §9.5, after checkKeys of the keys themselves"
        ),
        ("openName", "epoch", "`sealed name`, `TK`, `tresor`, `epoch`, `sequence`", "`name`, `kind`, SPEC §9.2"),
        (
            "accumulate", "accumulated", "`construction`, `count`",
            """
            `hash`: acc = 32 zero bytes; for number = 0 … count − 1: acc = BLAKE2b-256(acc ‖ result). Values are drawn as above with file "accumulated", id = number and \
            the name "construction name". *seal*: seal(K (32), "tresor/v1/file-seal", context (number mod 100), plaintext (number mod 300)) with salt (24). *derive*: derive(K, \
            "tresor/v1/slot-device", context (number mod 64)). *hash*: H("tresor/v1/entry-hash", x (number mod 200)). *padding*: L = the integer of L (5), shifted right by number mod 40; u64 \
            of len(Payload) of §10.3. *armour*: bytes (number mod 100) as TRESOR CARD. *id*: id (16 if number is even, else 32) as text. *number*: the 30 digits of hash (32). *words*: the kit of K (32), one blank \
            between words. *sign*: sign(seed (32), "tresor/v1/entry-signature", x (number mod 150)). In brackets: how many bytes are drawn
            """
        ),
        ("label", "labels", "`label`, `use`", "`label`, if it is registered with this use (SPEC §16.1), else `usage`"),
        ("hash", "labels", "`label`, `x`", "`hash` = H(label, x)"),
        ("verifyLabel", "labels", "`A`, `label`, `x`, `sig`", "verifyLabel(A, label, x, sig), SPEC §5.2"),
        ("derive", "tc1", "`K`, `label`, `context`", "`key` = derive(K, label, context), SPEC §6.1"),
        ("open", "tc1", "`K`, `label`, `context`, `sealed`", "`plaintext` = open(…), SPEC §6.4"),
        (
            "fold", "log",
            "`tresor`, `log` (entries, in order, all valid), `entry`",
            """
            fold(tresor, log ‖ entry), SPEC §9.4: `head` = u64 sequence ‖ hash; `head time`, `epoch` u64; `rotate first` 00 or 01; `members`, by rising user id, \
            each user ‖ role ‖ u64 history (0: all, else the epoch it begins with) ‖ u64 not-after (0: none) ‖ u64 since ‖ u64 since time ‖ admitted by
            """
        ),
        (
            "foldCrowd", "log",
            """
            `tresor`, `genesis`, `author` (its user id, generation 0), `founder` (Ed25519 seed), `crowd` (Ed25519 seed), `kem_key`, `handle`, `time`, `people in a grant`, `count`. \
            Make `count` cards of generation 0, equal but for their time, `time` + 0, + 1, …, signed with `crowd`; order them by user id; behind the genesis let the founder grant them, \
            `people in a grant` at once, the last fewer: role reader, full history, no not-after, each entry at `time`; fold
            """, "`head`, and the number of `members` (u64)"
        ),
        (
            "keepState", "log",
            "`tresor`, `log` (folds to the state); `chain`, `S`, `previous` (an identity, as in `openWrap`)",
            "`kept state`, SPEC §9.10"
        ),
        (
            "openKeptState", "log", "`tresor`, `kept state`; `chain`, `S`, `previous` (an identity, as in `openWrap`)",
            "the state, as in `fold`; SPEC §9.10"
        ),
        ("checkKEMKey", "wrap", "`pk`", "checkKEMKey(pk), SPEC §5.4"),
        (
            "openWrap", "wrap",
            """
            `wrap`; of the state: `tresor`, `epoch` (the Epoch of that number, as the log states it), `chain` (the log's chain of me), `history` (u64, 0: all, else \
            from); of my identity: `own chain`, `S` (newest seed), `previous` (sealed earlier seeds, newest first), which openSlot steps 2 and 3 (SPEC §8) have to accept
            """, "`keys` = TK or TK ‖ HK, SPEC §9.6"
        ),
        (
            "openFile", "file",
            """
            `tresor`, `log` (folds to the newest state), `file`, `TK` (of the header's epoch); optional: `expected tresor`, `expected record`, `expected author`, `current author` \
            (01: wanted)
            """,
            """
            openFile of SPEC §10.5 for a reader who is in, trusts the founder, and has TK: steps 1, 2, 4 (epoch), 7 to 16; epoch 0 is `no_access`. `content hash` = BLAKE2b-256(content), \
            `content size` u64
            """
        ),
    ]
}
