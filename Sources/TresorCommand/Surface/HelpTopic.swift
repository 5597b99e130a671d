// SPDX-License-Identifier: Apache-2.0

/// The subjects of `tresor help` that are not commands.
enum HelpTopic: String, CaseIterable, Sendable {
    case options
    case exitCodes = "exit-codes"
    case environment
    case files
    case json

    var text: String {
        switch self {
        case .options: Self.optionsText
        case .exitCodes: "Exit codes\n" + ExitCodes.rows.map { "  \($0.text)\n" }.joined() + Self.severalText
        case .environment: Self.environmentText
        case .files: Self.filesText
        case .json: Self.jsonText
        }
    }

    private static let optionsText = """
        Options of every command, before or after its name
          --home DIR                 keep your identity and data under DIR
          --store FILE|URL           use this store: a file, or https://HOST[:PORT] for a service
          --store-ca FILE            trust the certificates in FILE (PEM), not the system's, for the service
          --store-proxy HOST:PORT    reach the service through this proxy
          --password-file FILE       read the password from FILE, which nobody else may read
          --password-fd N            read the password from descriptor N
          --batch                    never ask; a missing answer is an error that names the option giving it
          --json                     print objects instead of text
          -q, --quiet                say nothing but errors
          --color auto|always|never  bold headings and names
          -h, --help                 explain the command
          --                         end the options

        tresor --version             print the versions of the program, the specification and the suite

        """

    private static let severalText = """

        With several INPUTs, each is tried. If one fails with 15, 14 or 16, that is the exit code, the first of these in this
        order. Otherwise it is the code that all share, else 1.

        What usually causes each of them, how to tell, and what to do: docs/TROUBLE.md of the sources, which the Debian package
        has in /usr/share/doc/tresor.

        """

    private static let environmentText = """
        Variables
          TRESOR_HOME                as --home
          TRESOR_STORE               as --store
          TRESOR_PASSWORD_FILE       as --password-file, but after it and after a trusted device
          TRESOR_PASSWORD_COMMAND    run by sh; its output is the password, within 30 seconds; it may ask at the terminal
          XDG_DATA_HOME              directory of identity, pins, heads and the default store (absolute paths only)
          XDG_STATE_HOME             directory of the device share of a trusted device (absolute paths only)
          SSL_CERT_FILE              file with the certificates of authorities (PEM), without --store-ca
          SSL_CERT_DIR               directories with one file for each, hashed; also in place of the system's
          NO_COLOR, TERM             no bold text if set, or dumb

        TRESOR_PASSWORD is refused: other processes can read environment variables.

        """

    private static let filesText = """
        Paths
          $XDG_DATA_HOME/tresor      identity, pins, heads, evidence, default store (else ~/.local/share/tresor)
          $XDG_STATE_HOME/tresor     device share of a trusted device (else ~/.local/state/tresor)
          --home DIR                 puts both under DIR, the second in DIR/state

        The store is --store, else TRESOR_STORE, else the one that keygen or recover noted in the home, else store.db in
        the home. It is a file, or a service at https://HOST, noted with its --store-ca and --store-proxy; http:// is for
        this machine alone. A service knows who asks, so every command opens your identity first.
        A home may use several stores. It notes the path of the one in which it first saw a tresor: another store
        need not have that tresor. A copy of a store with other changes looks like a fork.
        A file that -o names is replaced. Under a name that the command makes, opened content is kept, since it may have been
        edited: --force replaces it. Sealed files are replaced; identities, cards and kits are not.
        Directories are 0700; identity, kit, device share and decrypted files 0600; sealed files and cards follow the umask.

        """

    private static let jsonText = """
        With --json, standard output is one object, or one on each line for list, log, records, sync and check, and for
        several INPUTs, NAMEs or -t. A failure is one object on standard error; with several INPUTs there is one for each
        failure, in order. Nothing else is printed there:
          {"type":"error","error":"altered","code":14,"message":"…","hints":["…"],"file":"plan.tresor"}

        Every object has a type: identity, card, verified, tresor, members, change, entry, head, sealed, opened, inspected,
        device, finding, tests, exported, imported, put, record, no_records, synced, compacted, registration, login, logout,
        invitation, applicant, pending_share, error. Ids, hashes and safety numbers are strings, times RFC 3339 in UTC. Treat
        an unknown exit code as a failure, and ignore unknown fields. Contents are never included, and no secret but an
        invitation, which register --invite is for.

        """
}
