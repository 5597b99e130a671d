// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq

    /// Where a database is: a URL `postgresql://…` or a list of `keyword=value`, as libpq reads it.
    ///
    /// libpq takes what is missing from its environment, such as `PGPASSFILE`. This is never printed.
    package struct PostgresLocation: Sendable {
        let text: String
        /// Whether a password stands in it. Arguments of a process are readable for everybody on its machine, so a
        /// program refuses such a location among its arguments and reads it from a file.
        package let hasPassword: Bool

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
#endif
