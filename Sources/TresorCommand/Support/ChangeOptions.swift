// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `-n`, for a command that says nothing more exact about its change.
struct DryRunOption: ParsableArguments, Sendable {
    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Show what would change, and change nothing.")
    var dryRun = false
}

/// `--yes`, for a command that asks before it changes something.
struct ConsentOption: ParsableArguments, Sendable {
    @Flag(help: "Do not ask.")
    var yes = false
}
