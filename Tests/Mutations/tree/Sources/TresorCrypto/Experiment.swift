// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A task that a test watches: which checks it disables, to show that the attacks they defeat are real, and what it did.
/// The type exists only in the copy of the sources that `scripts/attacks` builds.
package final class Experiment: Sendable {
    /// What must not happen in a task whose attack is refused.
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

    private let leftOut: Set<Defence>
    private let counters = Mutex(Counts())

    package init(leavingOut defences: Set<Defence> = []) { leftOut = defences }

    /// What has happened so far.
    package var counts: Counts { counters.withLock { $0 } }

    fileprivate func leavesOut(_ defence: Defence) -> Bool { leftOut.contains(defence) }

    /// Notes what happens in the task at work.
    package static func count(_ number: Int = 1, in counter: any WritableKeyPath<Counts, Int> & Sendable) {
        current?.counters.withLock { $0[keyPath: counter] += number }
    }
}

extension Defence {
    /// Whether the task at work leaves the check out.
    package var isLeftOut: Bool { Experiment.current?.leavesOut(self) ?? false }
}
