// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorRecords

/// Names the versions of a record that stand beside each other.
struct VersionWords {
    let tresors: TresorResolver
    let state: LogState?
    /// The person of this home.
    let user: UserID

    /// Names the one that is shown, and the others.
    ///
    /// - Parameter versions: at least two, the shown one first.
    func words(_ versions: [RecordVersion]) -> String {
        let others = versions.dropFirst().map(words)
        let verb = others.count == 1 ? "the other is" : "the others are"
        return "\(versions.count) versions: shown is \(words(versions[0])); \(verb) \(others.joined(separator: ", "))"
    }

    /// Names what stands beside a change that was just made.
    ///
    /// - Parameters:
    ///   - name: the name of the record, fit to be shown.
    ///   - others: at least one.
    func words(of name: String, isDeleted: Bool, besides others: [RecordVersion]) -> String {
        let words = others.map(words).joined(separator: ", and ")
        if isDeleted { return "\(name) is still there: \(words)" }
        return "\(others.count + 1) versions of \(name): this one, and \(words)"
    }

    /// Names what a change that was just made has replaced.
    ///
    /// - Parameters:
    ///   - name: the name of the record, fit to be shown.
    ///   - others: at least one.
    func words(of name: String, isDeleted: Bool, inPlaceOf others: [RecordVersion]) -> String {
        let thing = isDeleted ? "the deletion of \(name)" : name
        return "\(thing) takes the place of \(others.map(words).joined(separator: ", and "))"
    }

    /// `anna's of 2026-05-02 14:03 UTC (revision 12)`.
    private func words(_ version: RecordVersion) -> String {
        let handle = state.map { tresors.handle(of: version.author, in: $0) } ?? ShortID.text(of: version.author)
        let owner = version.author == user ? "your" : "\(handle)'s"
        let thing = version.isDeletion ? " deletion" : version.author == user ? "s" : ""
        let standing = version.isVerified ? "" : ", not verified"
        let place = version.revision.map { "revision \($0)" } ?? "not sent yet"
        return "\(owner)\(thing) of \(Timestamp(seconds: version.time).dateAndMinute) (\(place)\(standing))"
    }
}
