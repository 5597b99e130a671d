// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCrypto

    /// Why an exchange with PostgreSQL failed. It holds none of the server's words, which may quote a value.
    enum PostgresFailure: Error {
        /// The server refused a statement, and nothing of the transaction stays.
        case refused(TresorError)
        /// Other transactions came between, and nothing of this one stays. It may be tried again.
        case collision
        /// The connection is broken. Of what was sent last nobody knows whether it happened.
        case broken
        /// The server did not answer in time, and the connection was broken for that.
        case late

        /// The failure for the five characters of an `SQLSTATE`; none if libpq itself failed.
        init(state: String?) {
            guard let state else {
                self = .broken
                return
            }
            switch state {
            case "40001", "40P01": self = .collision
            // Held locks, and statements that took too long.
            case "55P03", "57014": self = .refused(.busy)
            case "53100": self = .refused(.store(.full))
            case "53200": self = .refused(.store(.memory))
            case "25006", "42501": self = .refused(.store(.readOnly))
            case "58030", "58P01": self = .refused(.store(.inputOutput))
            // Tables, columns and types that are not there, or not those of this release.
            case "42P01", "42703", "42704", "42883", "42804", "0A000": self = .refused(.store(.schema))
            case "57P01", "57P02", "57P03", "57P05", "25P03", "26000": self = .broken
            default:
                switch state.prefix(2) {
                // Every write of this program keeps the constraints, so another program wrote a value that breaks one.
                case "23", "XX": self = .refused(.store(.damaged))
                case "08": self = .broken
                default: self = .refused(.store(.other))
                }
            }
        }

        /// The error for the caller, when nothing is tried any more.
        var error: TresorError {
            switch self {
            case .refused(let error): error
            case .collision: .busy
            case .broken, .late: .store(.inputOutput)
            }
        }
    }
#endif
