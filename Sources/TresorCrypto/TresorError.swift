// SPDX-License-Identifier: Apache-2.0

/// The one error vocabulary of tresor (SPEC §12).
///
/// Errors carry no text and no bytes: nothing of an input can be read back from one, and none says *why* something was
/// altered. ``name`` and ``exitCode`` are stable and stand in SPEC, in the vectors and in the command's JSON.
public enum TresorError: Error, Hashable, Sendable {
    /// None of the others; the fault says what this machine could not do.
    case failed(Fault)
    /// There is no such identity, person, tresor, member or file.
    case notFound
    /// Somebody else is writing, or the state changed meanwhile.
    case busy
    /// No slot opens with this password or kit.
    case wrongPassword
    /// You are not, or no longer, allowed to; or the author was not.
    case noAccess
    /// Damaged, forged, malformed, or not the object that was asked for.
    case altered
    /// Genuine, but older than or different from what was seen before.
    case forked
    /// A person is not verified, or is not who they were.
    case unverified
    /// Not approved yet (second stage).
    case waiting
    /// The store fails or withholds, without forging anything.
    case store(Fault)
    /// Made by a newer release, or a word of a later stage.
    case unsupported
    /// Wrong arguments.
    case usage
    /// INT, TERM or HUP.
    case interrupted

    /// What a machine or a store could not do. A closed list, so that no input can be carried along.
    public enum Fault: String, Hashable, Sendable, CaseIterable {
        /// The cryptographic library does not behave as SPEC §5 requires.
        case library = "the cryptographic library failed its start-up check"
        /// Memory could not be had.
        case memory = "out of memory"
        /// Reading or writing failed.
        case inputOutput = "input or output failed"
        /// The disk or quota is full.
        case full = "no space left"
        /// The place cannot be written to.
        case readOnly = "not writable"
        /// A file or directory is open to others or belongs to somebody else.
        case permissions = "permissions are too open"
        /// The store's file is damaged or is not a store.
        case damaged = "the store file is damaged or is not a store"
        /// The store was made by another release.
        case schema = "the store file has another layout"
        /// The store does not have what it must have.
        case withheld = "the store does not hand out what it must have"
        /// The store shows less of a log than a file names.
        case behind = "the store is behind this file, or the file is not genuine"
        /// The store said yes, and the next verified read says no.
        case notStored = "the store did not keep what it accepted"
        /// The store has the change, and the home could not note it.
        case notNoted = "the change is made, but this home could not be written; look before you repeat it"
        /// A date has passed by this machine's clock alone.
        case clock = "this machine's clock is too far from the log's to end dates by it"
        /// Anything else.
        case other = "an unexpected condition"
    }

    /// One error of each name.
    package static let kinds: [TresorError] = [
        .failed(.other), .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified, .waiting,
        .store(.other), .unsupported, .usage, .interrupted,
    ]

    /// The name used in SPEC, vectors and JSON, for example `no_access`.
    public var name: String {
        switch self {
        case .failed: "failed"
        case .notFound: "not_found"
        case .busy: "busy"
        case .wrongPassword: "wrong_password"
        case .noAccess: "no_access"
        case .altered: "altered"
        case .forked: "forked"
        case .unverified: "unverified"
        case .waiting: "waiting"
        case .store: "store"
        case .unsupported: "unsupported"
        case .usage: "usage"
        case .interrupted: "interrupted"
        }
    }

    /// The exit code of the command for this error.
    public var exitCode: Int32 {
        switch self {
        case .failed: 1
        case .notFound: 10
        case .busy: 11
        case .wrongPassword: 12
        case .noAccess: 13
        case .altered: 14
        case .forked: 15
        case .unverified: 16
        case .waiting: 17
        case .store: 18
        case .unsupported: 19
        case .usage: 64
        case .interrupted: 130
        }
    }
}
