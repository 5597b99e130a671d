// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The second step: the blobs that entries name. Times are seconds since 1970.
    extension Schema {
        static let second: [Table] = [
            // account: who put the part.
            Table(
                name: "blobs",
                columns: [
                    .bytes("tresor"), .bytes("hash"), .integer("part"), .incompressible("bytes"), .bytes("account"),
                ],
                key: ["tresor", "hash", "part"], partCount: 64),
            // sequence: the newest entry that names the blob; size: its bytes by that entry.
            Table(
                name: "blob_names",
                columns: [.bytes("tresor"), .bytes("hash"), .integer("sequence"), .integer("size")],
                key: ["tresor", "hash"], partCount: 32),
            // Blobs that no entry names, with the time at which they were last put; -1 for one that an owner deleted.
            Table(
                name: "blob_orphans",
                columns: [.bytes("tresor"), .bytes("hash"), .integer("time")],
                key: ["tresor", "hash"], indexes: [.init(columns: ["time"])]),
        ]
    }
#endif
