// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

/// The exit codes, as the help shows them.
enum ExitCodes {
    struct Row: Sendable {
        let code: Int32
        let name: String
        let meaning: String

        var text: String {
            let code = String(code)
            return String(repeating: " ", count: 3 - code.count) + code + "  "
                + name + String(repeating: " ", count: max(0, 16 - name.count)) + meaning
        }
    }

    static let rows: [Row] =
        [Row(code: 0, name: "", meaning: "done")]
        + meanings.map { Row(code: $0.exitCode, name: $0.name, meaning: $1) }

    private static let meanings: [(CommandError, String)] = [
        (.failed(.other), "none of the below; read the message"),
        (.notFound, "no such identity, person, tresor, store, member or file"),
        (.busy, "someone else is writing, or something changed during the command; look and try again"),
        (.wrongPassword, "no slot opens with this password or kit"),
        (.noAccess, "you are not, or no longer, allowed; or the author was not"),
        (.altered, "damaged, forged, malformed, or not the file you asked for; never why"),
        (.forked, "the store shows an older or a different history than before"),
        (.unverified, "a person is not verified, or is not who they were"),
        (.waiting, "nobody has approved or admitted you, or them, yet"),
        (.store(.other), "the store cannot be reached or answers with an error"),
        (.unsupported, "made by a newer version, or a command of a later stage"),
        (.usage, "wrong arguments"),
        (.interrupted, "INT, TERM or HUP"),
    ]
}
