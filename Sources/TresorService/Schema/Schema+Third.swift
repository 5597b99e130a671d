// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The third step: log-ins by password. Records and login copies lie in *accounts*. Times are seconds since 1970.
    extension Schema {
        static let third: [Table] = [
            // account: whose handle was named; zero for nobody's, with the same work; revision: of the newest statement then,
            // 0 for none; expected: the message that proves the password, empty once another one came; source: a code of
            // the source under a key that comes from the server key.
            Table(
                name: "login_attempts",
                columns: [
                    .bytes("attempt"), .bytes("account"), .integer("revision"), .bytes("expected"), .bytes("source"),
                    .integer("time"),
                ],
                key: ["attempt"], indexes: [.init(columns: ["account"]), .init(columns: ["time"])]),
            // revision: of a statement, 0 for none; failures: the attempts since then that ended without the password, as far
            // as the sweep has counted them; failed: the time of the last.
            Table(
                name: "login_failures",
                columns: [.bytes("account"), .integer("revision"), .integer("failures"), .integer("failed")],
                key: ["account", "revision"], fill: 70),
            // bucket: a code of whose it is, under the same key; filled: the time at which it is full again, in
            // milliseconds since 1970.
            Table(
                name: "login_limits",
                columns: [.bytes("bucket"), .integer("filled")],
                key: ["bucket"], indexes: [.init(columns: ["filled"])], fill: 70),
        ]
    }
#endif
