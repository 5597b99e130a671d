// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Synchronization

/// The options of every command. Each command hides them in its own help; `tresor help options` lists them.
struct GlobalOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp("Keep your identity and data under DIR.", valueName: "DIR", visibility: Self.visibility),
        completion: .directory)
    var home: String?

    @Option(
        help: ArgumentHelp(
            "Use this store: a file, or https:// and a host.", valueName: "FILE|URL", visibility: Self.visibility),
        completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in FILE for the store.", valueName: "FILE", visibility: Self.visibility),
        completion: .file())
    var storeCa: String?

    @Option(
        help: ArgumentHelp("Reach the store through a proxy.", valueName: "HOST:PORT", visibility: Self.visibility))
    var storeProxy: String?

    @Option(
        help: ArgumentHelp("Read the password from FILE.", valueName: "FILE", visibility: Self.visibility),
        completion: .file())
    var passwordFile: String?

    @Option(help: ArgumentHelp("Read the password from descriptor N.", valueName: "N", visibility: Self.visibility))
    var passwordFd: Int32?

    @Flag(help: ArgumentHelp("Never ask; a missing answer is an error.", visibility: Self.visibility))
    var batch = false

    @Flag(help: ArgumentHelp("Print JSON.", visibility: Self.visibility))
    var json = false

    @Flag(name: .shortAndLong, help: ArgumentHelp("Say nothing but errors.", visibility: Self.visibility))
    var quiet = false

    // A type of its own would cost each start a dozen searches of the parser's for what the type conforms to.
    @Option(
        help: ArgumentHelp("Print bold: auto, always or never.", valueName: "WHEN", visibility: Self.visibility),
        completion: .list(ColorChoice.allCases.map(\.rawValue)))
    var color: String?

    /// When to print bold.
    var colorChoice: ColorChoice { color.flatMap(ColorChoice.init) ?? .auto }

    func validate() throws {
        guard let color, ColorChoice(rawValue: color) == nil else { return }
        throw ValidationError("--color is auto, always or never, not \(DisplayText.quoted(color))")
    }

    /// Completions offer these options, the help of a command does not.
    private static var visibility: ArgumentVisibility { isOffering.withLock { $0 } ? .default : .hidden }
    private static let isOffering = Mutex(false)

    /// Shows the common options to whatever is made of the commands from now on.
    static func offer() { isOffering.withLock { $0 = true } }

    static let flags: Set<String> = ["--batch", "--json", "-q", "--quiet"]
    static let valued: Set<String> = [
        "--home", "--store", "--store-ca", "--store-proxy", "--password-file", "--password-fd", "--color",
    ]

    /// How many words a common option takes, itself included; `nil` if the word is none.
    static func length(of word: String) -> Int? {
        if flags.contains(word) { return 1 }
        if valued.contains(word) { return 2 }
        guard let equals = word.firstIndex(of: "=") else { return nil }
        return valued.contains(String(word[..<equals])) ? 1 : nil
    }
}

/// The values of `--color`.
enum ColorChoice: String, Sendable, CaseIterable {
    case auto, always, never
}
