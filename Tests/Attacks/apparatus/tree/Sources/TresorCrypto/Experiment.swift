// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A task that a test watches: which checks it disables, to show that the attacks they defeat are real, and what it
/// did. The type exists only in the copy of the sources that `scripts/attacks` builds.
package final class Experiment: Sendable {
    /// The events that must not happen in a task whose attack is refused.
    package struct Counts: Hashable, Sendable {
        /// How many signatures were made.
        package var signatures = 0
        /// How many keys were wrapped.
        package var wraps = 0
        /// How many bytes of content have passed the last check.
        package var releasedBytes = 0

        package init() {}
    }

    /// That of the task at work.
    @TaskLocal package static var current: Experiment?

    private let applied: Set<Mutation>
    private let counters = Mutex(Counts())

    package init(applying mutations: Set<Mutation> = []) { applied = mutations }

    /// The events so far.
    package var counts: Counts { counters.withLock { $0 } }

    fileprivate func applies(_ mutation: Mutation) -> Bool { applied.contains(mutation) }

    /// Notes what happens in the task at work.
    package static func count(_ number: Int = 1, in counter: any WritableKeyPath<Counts, Int> & Sendable) {
        current?.counters.withLock { $0[keyPath: counter] += number }
    }
}

extension Mutation {
    /// Whether the task at work disables the check.
    package var isApplied: Bool { Experiment.current?.applies(self) ?? false }
}
