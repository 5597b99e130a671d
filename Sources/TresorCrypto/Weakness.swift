// SPDX-License-Identifier: Apache-2.0

#if TRESOR_TESTING
    /// A check that a test leaves out, to show that the attack it defeats is real. No product that is shipped knows the type: it is
    /// compiled only with `-D TRESOR_TESTING`, and a test looks for its symbols.
    package enum Weakness: Hashable, Sendable {
        /// TC1's commitment to key, label, context and salt.
        case keyCommitment
        /// Every signature.
        case signature
        /// The log's commitment to the keys of an epoch.
        case epochCommitment
        /// The floor and ceiling of Argon2id.
        case cost
        /// The two checks of a KEM key when it is read.
        case kemKey
        /// Whether a person's number was compared.
        case trust
        /// The pinned head.
        case head
        /// What a role permits in the log.
        case role
        /// The tag over an identity file.
        case tag

        /// What the task at work leaves out.
        @TaskLocal package static var allowed: Set<Weakness> = []

        package static func allows(_ weakness: Weakness) -> Bool { allowed.contains(weakness) }
    }
#endif
