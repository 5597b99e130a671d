// SPDX-License-Identifier: Apache-2.0

/// The checks that defeat the attacks of SPEC §14.2, by the names in `attacks.tsv`. Its row or patch puts each one where it
/// is made: `guard Mutation.epochCommitment.passes(…) else { throw .altered }`. The rules of a log have names of their
/// own (SPEC §9.3). The type exists only in the copy of the sources that `scripts/attacks` builds.
package struct Mutation: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Whether the check holds: `condition`, or `true` where the task at work disables the check.
    package func passes(_ condition: Bool) -> Bool { isApplied || condition }
}
