// SPDX-License-Identifier: Apache-2.0

/// The one error vocabulary of tresor (SPEC §12).
///
/// An error carries no text and no bytes, so it cannot reveal its input, and no error says *why* something was altered.
/// ``name`` and ``exitCode`` are stable; SPEC, the vectors and the JSON of the command use them.
public enum TresorError: Error, Hashable, Sendable {
    /// Any other failure; the fault names what this machine could not do.
    case failed(Fault)
    /// The identity, person, tresor, member or file does not exist.
    case notFound
    /// Another process is writing, or the state changed during the operation.
    case busy
    /// The password or kit opens no slot.
    case wrongPassword
    /// You are not, or no longer, permitted to do this; or the author was not.
    case noAccess
    /// The object is damaged, forged, malformed, or not the requested one.
    case altered
    /// The object is genuine, but older than or different from one seen before.
    case forked
    /// A person is not verified, or has changed keys.
    case unverified
    /// The approval is missing (second stage).
    case waiting
    /// The store fails or withholds objects, without forging any.
    case store(Fault)
    /// The object is from a newer release, or the command from a later stage.
    case unsupported
    /// The arguments are invalid.
    case usage
    /// The signal INT, TERM or HUP ended the operation.
    case interrupted

    /// The failures of a machine or a store. The list is closed, so that an error cannot carry any input.
    public enum Fault: String, Hashable, Sendable, CaseIterable {
        /// The cryptographic library does not behave as SPEC §5 requires.
        case library = "the cryptographic library failed its start-up check"
        /// Memory is not available.
        case memory = "out of memory"
        /// Reading or writing failed.
        case inputOutput = "input or output failed"
        /// The disk or quota is full.
        case full = "no space left"
        /// The location is read-only.
        case readOnly = "not writable"
        /// A file or directory is accessible to other users or owned by another user.
        case permissions = "permissions are too open"
        /// The store file is damaged or is not a store.
        case damaged = "the store file is damaged or is not a store"
        /// Another release created the store.
        case schema = "the store file has another layout"
        /// The store lacks an object that it must have.
        case withheld = "the store does not hand out what it must have"
        /// The store shows a shorter log than a file refers to.
        case behind = "the store is behind this file, or the file is not genuine"
        /// The store confirmed a write that the next verified read does not show.
        case notStored = "the store did not keep what it accepted"
        /// The store has the change, but the home could not record it.
        case notNoted = "the change is made, but this home could not be written; look before you repeat it"
        /// A date has passed, but only by the clock of this machine.
        case clock = "this machine's clock is too far from the log's to end dates by it"
        /// Any other cause.
        case other = "an unexpected condition"
    }

    /// One error of each name.
    package static let kinds: [TresorError] = [
        .failed(.other), .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified, .waiting,
        .store(.other), .unsupported, .usage, .interrupted,
    ]

    /// The name in SPEC, vectors and JSON, for example `no_access`.
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
