// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq
    package import TresorService

    /// Where a database is: a URL `postgresql://…` or a list of `keyword=value`, as libpq reads it.
    ///
    /// libpq takes what is missing from its environment, such as `PGPASSFILE`. Messages name it by ``shown`` alone.
    package struct PostgresLocation: Sendable {
        let text: String
        /// Whether a password stands in it. Arguments of a process are readable for everybody on its machine, so a
        /// program refuses such a location among its arguments and reads it from a file.
        package let hasPassword: Bool
        /// Whether each part is so plain that no message with it shows a badly written password. libpq and the server
        /// quote the names of hosts, roles and databases.
        package let isPlain: Bool
        /// The ports that it names. A password of digits that was written badly is one.
        private let ports: [String]
        /// Whether the server takes connections, for all that use this location.
        package let outage = Outage()

        /// Reads a location; `nil` if libpq does not understand it, or takes a part of a password for something else.
        package init?(_ text: String) {
            guard !Self.hasStrayMark(text), let options = PQconninfoParse(text, nil) else { return nil }
            defer { PQconninfoFree(options) }
            var (hasPassword, isPlain, ports) = (false, true, [String]())
            var option = options
            while let keyword = option.pointee.keyword {
                defer { option += 1 }
                guard let value = option.pointee.val.map({ String(cString: $0) }) else { continue }
                let form = Form(ofKeyword: String(cString: keyword))
                if form == .secret { hasPassword = true }
                if form == .ports { ports = value.split(separator: ",").map(String.init) }
                let isPlainValue = form.contains(value)
                if form.isClosed, !isPlainValue { return nil }
                isPlain = isPlain && isPlainValue
            }
            self.text = text
            self.hasPassword = hasPassword
            self.isPlain = isPlain
            self.ports = ports
        }

        /// Whether a URL has an `@` elsewhere than once before its host, or behind the `?` of its parameters. A password
        /// with an `@` or a `/` that was not written with `%` leaves one, and libpq takes what stands beside it for a host, a
        /// port or a database.
        private static func hasStrayMark(_ text: String) -> Bool {
            guard let scheme = text.firstRange(of: "://") else { return false }
            let address = text[scheme.upperBound...].utf8
            // Before the first slash a question mark may be one of a password.
            let slash = address.firstIndex(of: UInt8(ascii: "/")) ?? address.endIndex
            let rest = address[..<(address[slash...].firstIndex(of: UInt8(ascii: "?")) ?? address.endIndex)]
            let marks = rest.indices.filter { rest[$0] == UInt8(ascii: "@") }
            guard let mark = marks.first else { return false }
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            return marks.count > 1 || mark > end
        }

        /// The reason of a failure that an operator may see.
        ///
        /// Before libpq asks a server, its words quote values that it cannot read. A badly written password may be such a
        /// value. So only the words of servers and of the network are shown, and only beside plain names.
        ///
        /// - Parameter words: libpq's words, of which the first line counts.
        func reason(in words: String) -> String {
            guard isPlain else { return "its reason is not shown, because it may quote unusual parts of the address" }
            let line = String(words.split(whereSeparator: \.isNewline).first ?? "")
            let isFromOutside = ["connection to server ", "could not translate host name ", "ERROR: ", "FATAL: "]
                .contains { line.hasPrefix($0) }
            return isFromOutside
                ? withoutPorts(line) : "libpq refuses a part of the address, or a variable PG… of its environment"
        }

        /// A line of libpq without the ports of this location, longer ones first.
        private func withoutPorts(_ line: String) -> String {
            ports.sorted { $0.count > $1.count }.reduce(line) { line, port in
                line.replacing(", port \(port)", with: "").replacing(".s.PGSQL.\(port)", with: ".s.PGSQL")
            }
        }

        /// The location, as messages name it. An address with unusual parts may hold a badly written password, and so may its
        /// parameters and its ports.
        package var shown: String {
            guard isPlain, let scheme = text.firstRange(of: "://") else { return "postgresql://…" }
            let address = text[scheme.upperBound...].prefix { $0 != "?" }
            let hosts = address.prefix { $0 != "/" }
            let names = hosts.split(separator: ",", omittingEmptySubsequences: false).map { host in
                // The colons of an address of IPv6 stand in brackets.
                let name = host.lastIndex(of: "]") ?? host.startIndex
                return String(host[..<(host[name...].firstIndex(of: ":") ?? host.endIndex)])
            }
            return "\(text[..<scheme.upperBound])\(names.joined(separator: ","))\(address[hosts.endIndex...])"
        }
    }

    extension PostgresLocation {
        /// The form that the values of a keyword have.
        enum Form {
            /// A password.
            case secret
            /// A port, or one for each host.
            case ports
            /// A number, which may be less than 0.
            case number
            /// A word of a closed list.
            case word
            /// Words of a closed list, each of which may be ruled out.
            case words
            /// The name of a role, a database or a service.
            case name
            /// Settings of the server.
            case settings
            /// Hosts, or the path of a file.
            case place
            /// The form of a keyword that a newer libpq knows.
            case unknown

            init(ofKeyword keyword: String) {
                switch keyword {
                case "password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret":
                    self = .secret
                case "port": self = .ports
                case "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
                    "tcp_user_timeout", "sslcompression", "sslsni":
                    self = .number
                case "sslmode", "gssencmode", "channel_binding", "sslnegotiation", "sslcertmode", "gssdelegation",
                    "ssl_min_protocol_version", "ssl_max_protocol_version", "min_protocol_version",
                    "max_protocol_version", "target_session_attrs", "load_balance_hosts", "gsslib", "replication",
                    "client_encoding":
                    self = .word
                case "require_auth": self = .words
                case "user", "dbname", "service", "krbsrvname", "requirepeer", "oauth_client_id", "oauth_scope":
                    self = .name
                case "options", "application_name", "fallback_application_name": self = .settings
                case "host", "hostaddr", "passfile", "servicefile", "sslcert", "sslkey", "sslrootcert", "sslcrl",
                    "sslcrldir", "sslkeylogfile":
                    self = .place
                default: self = .unknown
                }
            }

            /// True if libpq takes no value but plain ones.
            var isClosed: Bool {
                switch self {
                case .ports, .number, .word, .words: true
                case .secret, .name, .settings, .place, .unknown: false
                }
            }

            /// Whether a value is plain for this form.
            func contains(_ value: String) -> Bool {
                let scalars = value.unicodeScalars
                return switch self {
                case .secret, .unknown: false
                case .ports:
                    value.split(separator: ",").allSatisfy { UInt16($0) != nil && $0.utf8.first != UInt8(ascii: "+") }
                case .number: scalars.allSatisfy(Self.isDigit) || Int32(value) != nil
                case .words: scalars.allSatisfy { Self.isPlain($0) || $0 == "!" }
                case .word, .name: scalars.allSatisfy(Self.isPlain)
                case .settings: scalars.allSatisfy { Self.isPlain($0) || $0 == " " || $0 == "=" }
                case .place where scalars.contains(":"):
                    // An address of IPv6.
                    scalars.allSatisfy { $0.properties.isASCIIHexDigit || [":", ".", ","].contains($0) }
                case .place: scalars.allSatisfy { Self.isPlain($0) || $0 == "/" }
                }
            }

            private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

            private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
                scalar.properties.isAlphabetic || isDigit(scalar) || [".", ",", "_", "-"].contains(scalar)
            }
        }
    }
#endif
