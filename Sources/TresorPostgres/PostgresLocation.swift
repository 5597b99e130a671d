// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq
    import Synchronization

    /// Where a database is: a URL `postgresql://…` or a list of `keyword=value`, as libpq reads it.
    ///
    /// libpq takes what is missing from its environment, such as `PGPASSFILE`. This is never printed.
    package struct PostgresLocation: Sendable {
        let text: String
        /// Whether a password stands in it. Arguments of a process are readable for everybody on its machine, so a
        /// program refuses such a location among its arguments and reads it from a file.
        package let hasPassword: Bool
        /// Whether the server takes connections, for all that use this location.
        package let outage = PostgresOutage()

        /// Reads a location; `nil` if libpq does not understand it.
        package init?(_ text: String) {
            guard let options = PQconninfoParse(text, nil) else { return nil }
            defer { PQconninfoFree(options) }
            var hasPassword = false
            var option = options
            while let keyword = option.pointee.keyword {
                if option.pointee.val != nil, ["password", "sslpassword"].contains(String(cString: keyword)) {
                    hasPassword = true
                }
                option += 1
            }
            self.text = text
            self.hasPassword = hasPassword
        }
    }

    /// Whether a server takes connections, and libpq's reason if it does not: no value of a statement stands there, and no
    /// password.
    package final class PostgresOutage: Sendable {
        private struct State {
            var reason: String?
            var tell: @Sendable (String?) -> Void = { _ in }
        }

        private let state = Mutex(State())

        /// The reason why the last connection failed; `nil` if it did not.
        package var reason: String? { state.withLock { $0.reason } }

        /// Has somebody told when connections begin to fail, with the reason, and when they come back, with `nil`.
        package func onChange(_ tell: @escaping @Sendable (String?) -> Void) { state.withLock { $0.tell = tell } }

        /// Notes how a connection went. Of several reasons in an outage, the first is told.
        ///
        /// - Parameter words: libpq's words, of which the first line counts; `nil` if there is a connection.
        func note(_ words: String?) {
            let reason = words.map { String($0.split(whereSeparator: \.isNewline).first ?? "no reason is known") }
            let tell = state.withLock { state in
                defer { state.reason = reason }
                return (state.reason == nil) == (reason == nil) ? nil : state.tell
            }
            tell?(reason)
        }
    }
#endif
