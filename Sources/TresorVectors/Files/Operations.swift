// SPDX-License-Identifier: Apache-2.0

/// What a program does with the tests of an operation, in the words of vectors/README.md.
enum Operations {
    static let table: [(name: String, file: String, input: String, output: String)] = [
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
        ("checkKEMKey", "wrap", "`pk`", "checkKEMKey(pk), SPEC §5.4"),
        (
            "openWrap", "wrap",
            """
            `wrap`; of the state: `tresor`, `epoch` (the Epoch of that number, as the log states it), `chain` (the log's chain of me), `history` (u64, 0: all, else \
            from); of my identity: `own chain`, `S` (newest seed), `previous` (sealed earlier seeds, newest first)
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
