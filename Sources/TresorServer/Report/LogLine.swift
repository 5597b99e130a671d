// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Why a request ended without all of its answer.
    enum Cut: String, CaseIterable, Sendable {
        /// The client left, or its connection broke.
        case left
        /// The client sent or took too little in the time there is.
        case slow
        /// The connection made room for another one.
        case displaced
    }

    /// One line of the log: a JSON object whose fields come from a closed list.
    ///
    /// No field of a request takes a text from outside: each value is a number, a time, an address where the operator asked
    /// for it, or a word of a closed list. So no name, no tresor and no secret can reach the log. A reason tells of the
    /// machine of the service, and no line of a request has one.
    struct LogLine: Sendable {
        /// The fields, in the order in which they stand.
        enum Field: String, CaseIterable, Sendable {
            case at, level, event, operation, status, error, cause, reason, ms
            case bytesIn = "in"
            case bytesOut = "out"
            case port, source, process
        }

        /// The event.
        enum Event: String, CaseIterable, Sendable {
            /// The service starts, and listens.
            case starting, listening
            /// A request was answered.
            case request
            /// A request ended without all of its answer.
            case cut
            /// A connection was closed, since there were too many.
            case turnedAway = "turned-away"
            /// No connection is taken: the process has as many files and connections open as it may.
            case noDescriptors = "no-descriptors"
            /// A sweep failed, which drops things that are kept for a time; it is tried again in ten minutes.
            case sweepFailed = "sweep-failed"
            /// The certificate was read again, or is not good at this time.
            case certificate
            /// The database takes no connection any more, or its file is not in its place, and is there again.
            case databaseLost = "database-lost"
            case databaseBack = "database-back"
            /// The file of revocations ended with a part of a record, which was cut off.
            case revocationTorn = "revocation-torn"
            /// The file of revocations is damaged, so that none can be written.
            case revocationsDamaged = "revocations-damaged"
            /// Everything that a backup may have brought back was dropped.
            case restored
            /// A command closed an account, or withdrew an invitation.
            case accountClosed = "account-closed"
            case invitationWithdrawn = "invitation-withdrawn"
            /// The service stops, and has stopped.
            case stopping, stopped
        }

        enum Level: String, CaseIterable, Sendable {
            case info, warning, error
        }

        let level: Level
        private var values: [Field: String] = [:]

        init(_ event: Event, _ level: Level = .info, at time: CalendarTime = .now, process: Int32) {
            self.level = level
            values[.at] = Self.quoted(time.text)
            values[.level] = Self.quoted(level.rawValue)
            values[.event] = Self.quoted(event.rawValue)
            values[.process] = String(process)
        }

        /// Says how a request went.
        ///
        /// - Parameter source: whether the address of the client is named.
        mutating func add(_ exchange: HTTPExchange, source: Bool) {
            values[.operation] = (exchange.head?.endpoint.name).map(Self.quoted)
            values[.ms] = String(exchange.milliseconds)
            values[.bytesIn] = String(exchange.byteCount)
            values[.bytesOut] = String(exchange.sentByteCount)
            if source { values[.source] = Self.quoted(SourceAddress.text(exchange.source)) }
        }

        /// Says what a request was answered.
        mutating func add(_ reply: ServiceReply) {
            values[.status] = String(reply.status)
            values[.error] = reply.error.map { Self.quoted($0.name) }
            values[.bytesOut] = String(reply.body.count)
        }

        /// Says why a request was refused, where status and error do not.
        mutating func add(_ cause: Refusal.Cause?) { values[.cause] = cause.map { Self.quoted($0.rawValue) } }

        /// Says why something of this machine failed: paths of the arguments, or libpq's words for a connection.
        mutating func add(reason: String) { values[.reason] = Self.quoted(Self.escaped(reason)) }

        /// Says why a request was cut.
        mutating func add(_ cause: Cut) { values[.cause] = Self.quoted(cause.rawValue) }

        /// Says which port the service listens on.
        mutating func add(port: Int) { values[.port] = String(port) }

        /// The line, with its end.
        var text: String {
            let fields = Field.allCases.compactMap { field in values[field].map { "\"\(field.rawValue)\":\($0)" } }
            return "{" + fields.joined(separator: ",") + "}\n"
        }

        /// A word of a closed list, or digits: nothing in it needs an escape.
        private static func quoted(_ word: String) -> String { "\"\(word)\"" }

        /// At most 500 characters of a text, with no escape but those of JSON. What is not printable ASCII becomes `?`.
        private static func escaped(_ text: String) -> String {
            text.unicodeScalars.prefix(500).reduce(into: "") { escaped, scalar in
                switch scalar {
                case "\"", "\\": escaped += "\\\(scalar)"
                case " "..."~": escaped.unicodeScalars.append(scalar)
                default: escaped += "?"
                }
            }
        }
    }
#endif
