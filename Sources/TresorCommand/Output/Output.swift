// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Writes a command's data to standard output and its messages to standard error.
struct Output: Sendable {
    let isQuiet: Bool
    let isJSON: Bool
    /// The style of standard output.
    let style: Style
    /// The style of standard error.
    let talkStyle: Style

    init(options: GlobalOptions, environment: Environment) {
        isQuiet = options.quiet
        isJSON = options.json
        style = Style(options.colorChoice, environment: environment, isTerminal: Channel.output.isTerminal)
        talkStyle = Style(options.colorChoice, environment: environment, isTerminal: Channel.error.isTerminal)
    }

    var report: FailureReport { FailureReport(json: isJSON) }

    /// Data, exactly as it is.
    func data(_ bytes: Span<UInt8>) throws(CommandFailure) {
        try Channel.output.write(bytes)
    }

    /// One line of data.
    func line(_ text: String) throws(CommandFailure) {
        try Channel.output.write(text + "\n")
    }

    func table(_ table: Table) throws(CommandFailure) {
        try Channel.output.write(table.text(style))
    }

    /// One object, on one line.
    func object(_ object: JSONObject) throws(CommandFailure) {
        try Channel.output.write(object.line)
    }

    /// One line about a change of state: `tresor: …`. Nothing with `-q` or `--json`.
    func say(_ text: String) {
        tell("tresor: \(text)")
    }

    /// A line about what standard output is about to show on a terminal: bold, which nothing can be that comes through
    /// ``refuseForTerminal(_:isForced:hints:)``.
    func announce(_ text: String) {
        tell(talkStyle.bold("tresor: \(text)"))
    }

    /// Lines without a prefix, such as what a removal cannot undo. Nothing with `--json`; printed even with `-q`,
    /// because somebody is about to be asked.
    func explain(_ text: String) {
        if !isJSON { Channel.error.tryWrite(text + "\n") }
    }

    /// Tells a command to paste, with the places of this run.
    func hint(_ text: String) {
        tell("tresor: hint: \(HintCompletion.complete(text))")
    }

    /// A warning and the command against it, printed even with `-q`: nothing else tells. Nothing with `--json`, whose object
    /// has both.
    func warn(_ text: String, hint: String) {
        explain("tresor: warning: \(text)")
        explain("tresor: hint: \(HintCompletion.complete(hint))")
    }

    private func tell(_ line: String) {
        if !isQuiet && !isJSON { Channel.error.tryWrite(line + "\n") }
    }

    /// Refuses what could drive a terminal, if standard output is one: control characters other than tab and line ends,
    /// signs that turn the writing direction or are not seen, and whatever is not text.
    ///
    /// - Parameter isForced: whether `-o -` was given.
    func refuseForTerminal(_ bytes: Span<UInt8>, isForced: Bool, hints: [String]) throws(CommandFailure) {
        guard Channel.output.isTerminal, !isForced, !DisplayText.isTextForTerminal(bytes) else {
            return
        }
        throw .usage("the output is not plain text and standard output is a terminal", hints: hints)
    }
}

/// Bold in headings and names, nothing else; meaning never hangs on it.
struct Style: Sendable {
    let isBold: Bool

    static let plain = Style(isBold: false)

    private init(isBold: Bool) { self.isBold = isBold }

    init(_ choice: ColorChoice, environment: Environment, isTerminal: Bool) {
        switch choice {
        case .always: isBold = true
        case .never: isBold = false
        case .auto: isBold = isTerminal && !environment.noColor && !environment.isDumbTerminal
        }
    }

    func bold(_ text: String) -> String {
        isBold ? "\u{1b}[1m\(text)\u{1b}[0m" : text
    }
}
