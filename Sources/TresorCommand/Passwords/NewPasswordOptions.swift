// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Where a new password comes from, for the commands that set one.
struct NewPasswordOptions: ParsableArguments, Sendable {
    @Option(help: ArgumentHelp("Read the new password from FILE.", valueName: "FILE"), completion: .file())
    var newPasswordFile: String?

    @Option(help: ArgumentHelp("Read the new password from descriptor N.", valueName: "N"))
    var newPasswordFd: Int32?
}
