// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The first step: accounts, logs, server shares and kit copies. Times are seconds since 1970.
    extension Schema {
        static let first: [Table] = logs + accounts + besides

        /// One row a tresor, which every append compares and swaps, and what belongs to it.
        private static let logs: [Table] = [
            // count: the number of entries; head: the hash of the last; bytes: of entries and wraps;
            // deleted: the time of deletion, for a tombstone; changed: the time of the last entry, for news.
            Table(
                name: "tresors",
                columns: [
                    .bytes("tresor"), .integer("count"), .bytes("head"), .bytes("founder"), .integer("bytes"),
                    .integer("deleted").optional, .integer("changed"),
                ],
                key: ["tresor"], indexes: [.init(columns: ["founder"])], fill: 70),
            Table(
                name: "entries",
                columns: [.bytes("tresor"), .integer("sequence"), .incompressible("entry")],
                key: ["tresor", "sequence"], partCount: 32),
            Table(
                name: "wraps",
                // putter: who put it; since: the entry that it came with, or the number of entries when it was put.
                columns: [
                    .bytes("tresor"), .bytes("account"), .integer("epoch"), .bytes("putter"), .integer("since"),
                    .incompressible("wrap"),
                ],
                key: ["tresor", "account", "epoch", "putter"], partCount: 32),
            // The readers: since which epoch, and for somebody who was removed, up to which entry.
            Table(
                name: "access",
                columns: [
                    .bytes("tresor"), .bytes("account"), .integer("role"), .integer("first_epoch"),
                    .integer("last_sequence").optional,
                ],
                key: ["tresor", "account"], indexes: [.init(columns: ["account", "tresor"])], partCount: 32),
            // The share of each author: entries, and the bytes of these and of the wraps and blobs that they put;
            // unread: the bytes of bodies that nothing here reads, on the day of that number since 1970.
            // Of the founder only day and unread count: the rest is what is left of the tresor beside the others.
            Table(
                name: "authors",
                columns: [
                    .bytes("tresor"), .bytes("account"), .integer("entries"), .integer("bytes"), .integer("day"),
                    .integer("unread"),
                ],
                key: ["tresor", "account"], partCount: 32, fill: 70),
            // The tombstones behind which rows still lie.
            Table(name: "deletions", columns: [.bytes("tresor")], key: ["tresor"]),
            // A part of a snapshot of the folded log after `count` entries. Where part 0 lies, all parts do.
            Table(
                name: "states",
                columns: [.bytes("tresor"), .integer("count"), .integer("part"), .incompressible("state")],
                key: ["tresor", "count", "part"]),
        ]

        private static let accounts: [Table] = [
            // state: an AccountState; sign_key: of the newest generation; era: that of its sessions;
            // awaited: behind a backup, the generation that speaks, and its card, or none where the operator decides;
            // the last five are of the log-in, empty without one; nothing uses the locator.
            Table(
                name: "accounts",
                columns: [
                    .bytes("account"), .bytes("handle"), .integer("state"), .incompressible("chain"),
                    .integer("generation"), .bytes("sign_key"), .bytes("era"), .integer("asked"),
                    .bytes("invitation").optional, .integer("awaited").optional, .bytes("awaited_card").optional,
                    .integer("revision").optional,
                    .incompressible("record").optional, .incompressible("statement").optional,
                    .incompressible("copy").optional, .bytes("locator").optional,
                ],
                key: ["account"],
                indexes: [.init(columns: ["handle"], isUnique: true), .init(columns: ["state", "asked"])], fill: 70),
            // until: the end of the invitation; account: who used it.
            Table(
                name: "invitations",
                columns: [.bytes("hash"), .bytes("label"), .integer("until"), .bytes("account").optional],
                key: ["hash"]),
            // The card chains that wait for the operator, of accounts that a backup brought back.
            Table(
                name: "offers",
                columns: [.bytes("account"), .incompressible("chain"), .integer("asked")],
                key: ["account"]),
            Table(
                name: "server_shares",
                columns: [.bytes("account"), .bytes("device"), .bytes("share"), .bytes("device_key")],
                key: ["account", "device"]),
            Table(
                name: "kit_copies",
                columns: [.bytes("locator"), .bytes("account"), .incompressible("copy")],
                key: ["locator"], indexes: [.init(columns: ["account"])]),
        ]

        private static let besides: [Table] = [
            // One row, with id 1: what the service was made with; revoked: the number of its last start, 1 before that, none
            // before its revocations were ever noted.
            Table(
                name: "services",
                columns: [
                    .integer("id"), .bytes("server"), .bytes("operator"), .integer("registration"), .integer("tresors"),
                    .integer("entries"), .integer("bytes"), .integer("requests"), .integer("revoked").optional,
                ],
                key: ["id"]),
            // The requests of the last hour that changed something, with the hash of each body, and its answer; none
            // for one that is answered once. They are deleted by the index on the time, and not dropped as a part for
            // each hour: the key of such parts would have to contain the time, and the same id could then happen once
            // in each of two hours. A sweep deletes what ten minutes brought, so that vacuum keeps up.
            Table(
                name: "requests",
                columns: [
                    .bytes("scope"), .bytes("id"), .bytes("body"), .incompressible("answer").optional,
                    .integer("time"),
                ],
                key: ["scope", "id"], indexes: [.init(columns: ["time"])]),
        ]
    }
#endif
