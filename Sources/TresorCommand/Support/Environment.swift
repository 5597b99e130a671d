// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The variables the program knows, beside those of the authorities that TresorRemote trusts; it reads no others. An
/// empty one counts as absent.
struct Environment: Sendable {
    var home: String?
    var store: String?
    var passwordFile: String?
    var passwordCommand: String?
    var noColor = false
    var terminal: String?
    var dataHome: String?
    var stateHome: String?
    /// The user's own directory: `HOME`, else the one the system lists.
    var userHome: String?

    static func current() throws(CommandFailure) -> Environment {
        Environment(
            home: try value("TRESOR_HOME"), store: try value("TRESOR_STORE"),
            passwordFile: try value("TRESOR_PASSWORD_FILE"), passwordCommand: try value("TRESOR_PASSWORD_COMMAND"),
            noColor: try value("NO_COLOR") != nil, terminal: try value("TERM"),
            dataHome: try value("XDG_DATA_HOME"), stateHome: try value("XDG_STATE_HOME"),
            userHome: try value("HOME") ?? systemHome())
    }

    /// A password in the environment is a password in every child and every crash report.
    static func refusePassword() throws(CommandFailure) {
        guard getenv("TRESOR_PASSWORD") == nil else {
            throw .usage(
                "refusing TRESOR_PASSWORD: other processes can read environment variables",
                hints: ["unset TRESOR_PASSWORD"])
        }
    }

    /// Whether a password, or a command that prints it, is given.
    var hasPassword: Bool { passwordFile != nil || passwordCommand != nil }

    var isDumbTerminal: Bool { terminal == nil || terminal == "dumb" }

    private static func value(_ name: String) throws(CommandFailure) -> String? {
        guard let bytes = getenv(name) else { return nil }
        guard let value = String(validatingCString: bytes) else { throw .usage("\(name) is not valid UTF-8") }
        return value.isEmpty ? nil : value
    }

    private static func systemHome() -> String? {
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return nil }
        return String(validatingCString: directory)
    }
}
