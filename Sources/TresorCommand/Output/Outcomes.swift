// SPDX-License-Identifier: Apache-2.0

/// The results of several INPUTs, each tried and reported. The exit code is forked, altered or unverified if one of
/// them failed so, in this order; otherwise the code that all share, else 1.
struct Outcomes: Sendable {
    private var codes: Set<Int32> = []

    mutating func succeeded() { codes.insert(0) }

    /// Reports the failure at once and remembers its code.
    mutating func failed(_ failure: CommandFailure, report: FailureReport) {
        report.print(failure)
        failed(failure.exitCode)
    }

    /// Remembers a code that has been reported.
    mutating func failed(_ code: Int32) { codes.insert(code) }

    /// - Throws: ``Exit`` unless everything succeeded.
    func finish() throws(Exit) {
        guard let code = codes.first, codes != [0] else { return }
        let worst = [CommandError.forked, .altered, .unverified].map(\.exitCode).first(where: codes.contains)
        throw Exit(code: worst ?? (codes.count == 1 ? code : 1))
    }
}

/// Which of several errors a command ends with.
enum Severity {
    private static let order: [CommandError] = [.forked, .altered, .unverified, .noAccess]

    static func worst(_ errors: [CommandError]) -> CommandError? {
        if let first = order.first(where: errors.contains) { return first }
        return errors.first(where: \.isOfTheStore) ?? errors.first
    }
}
