// SPDX-License-Identifier: Apache-2.0

/// The one error vocabulary of tresor (SPEC §12).
///
/// An error carries no text and no bytes, so it cannot reveal its input, and no error says *why* something was altered.
/// `localizedDescription` is a sentence that you can show to a person.
@nonexhaustive
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
    /// No approver has approved your access yet, or the operator of the service has not admitted you yet.
    case waiting
    /// The store fails or withholds objects, without forging any.
    case store(Fault)
    /// A newer release made the object.
    case unsupported
    /// An argument is invalid, or the act makes no sense at this state. The misuse says which.
    case usage(Misuse)
    /// The task was cancelled. An act that was not yet sent has not happened.
    case cancelled

    /// The failures of a machine or a store. The list is closed, so that an error cannot carry any input.
    @nonexhaustive
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
        /// The service cannot be reached, or does not answer in time.
        case unreachable = "it cannot be reached, or does not answer"
        /// The service cannot prove that it has its name.
        case certificate = "its certificate is for another address, has expired, or comes from an unknown authority"
        /// The answer is not that of a tresor service.
        case foreign = "the answer is not that of a tresor service"
        /// A date has passed, but only by the clock of this machine.
        case clock = "this machine's clock is too far from the log's to end dates by it"
        /// A service has another time.
        case serviceClock = "this machine's clock is too far from that of the service to sign by either"
        /// Any other cause.
        case other = "an unexpected condition"
    }

    /// The reasons why arguments are refused. The list is closed, so that an error cannot carry any input.
    @nonexhaustive
    public enum Misuse: String, Hashable, Sendable, CaseIterable {
        /// The password is empty, or a new one has fewer than 8 code points (SPEC §8.1).
        case passwordTooShort = "the password is too short"
        /// The password has more than 1024 bytes as typed.
        case passwordTooLong = "the password is too long"
        /// The password is not UTF-8, or has a code point that nobody can type again.
        case passwordCharacters = "the password has characters that cannot be used in one"
        /// A name that must not be empty is empty.
        case nameEmpty = "the name is empty"
        /// The name has more than 256 bytes.
        case nameTooLong = "the name is too long"
        /// A typed name begins with `-`, or a name has a code point that SPEC §4.4 refuses. A content type or a record
        /// name begins with `tresor/`.
        case nameCharacters = "the name has characters that cannot be used in one"
        /// The typed safety number is not 30 digits (SPEC §4.5).
        case safetyNumber = "a safety number has 30 digits"
        /// The label is not 1 to 255 printable ASCII characters, or begins with `tresor/`.
        case domainLabel = "the label has another form"
        /// The session was locked, and its keys are wiped.
        case locked = "the session is locked"
        /// The home already has an identity.
        case identityExists = "there is an identity in this home"
        /// The identity has 256 generations and cannot be renewed again.
        case tooManyGenerations = "the identity cannot be renewed again"
        /// The identity file would hold no key slot, or more than 256.
        case tooManySlots = "the identity has too many devices"
        /// A time lies before 1970 or after the year 9999 (SPEC §2).
        case time = "the time is out of range"
        /// The act names nobody.
        case nobodyNamed = "nobody is named"
        /// The act names a person twice.
        case namedTwice = "a person is named twice"
        /// No owner whose access has no end would remain.
        case lastOwner = "a tresor keeps at least one owner whose access has no end"
        /// The founder cannot be removed, and cannot have another role or an end.
        case founder = "the founder of a tresor stays its owner"
        /// A person removes themselves. Leaving is an act of its own.
        case yourself = "you cannot remove yourself"
        /// The epochs that a member can read cannot change (SPEC §9.7).
        case historyCannotChange = "the history that a member can read cannot change"
        /// An owner reads every epoch, so a person without the history cannot be one.
        case ownerWithoutHistory = "an owner reads the whole history"
        /// A change of a member is mixed with other people.
        case oneChangeAtATime = "members change one at a time"
        /// The tresor would have more members than SPEC §13 allows, or the entry more than 1 MiB.
        case tooManyPeople = "there are too many people"
        /// The tresor would have more approvers than SPEC §13 allows.
        case tooManyApprovers = "a tresor has at most 16 approvers"
        /// An approver is a member or waits, or a person to be added is an approver.
        case approver = "an approver is no member of the tresor"
        /// A person waits, and their role or end cannot change until an approver has approved them.
        case stillWaiting = "the person waits for approval"
        /// A person waits through more epochs than a release holds (SPEC §9.11).
        case waitsTooLong = "the person has waited through too many key changes"
        /// The text names several tresors.
        case ambiguous = "several tresors have this name"
        /// This person already has a tresor with this name.
        case tresorExists = "you have a tresor with this name"
        /// Another person founded the tresor.
        case notFounder = "you are not the founder of this tresor"
        /// The address of a service has another form, or is `http://` to another machine.
        case address = "an address is https://HOST or https://HOST:PORT, or http:// to this machine"
        /// Resealing would open the file to members who cannot read it now (SPEC §10.7).
        case newcomers = "newer members could open the file afterwards"
        /// The content, or the sealed file, has more than 2^40 bytes.
        case contentTooLong = "the content is too long"
        /// More than 1023 contents of more than 64 KiB would be changed at once, or wait to be sent (SPEC §8.5).
        case tooManyContents = "at most 1023 contents above 64 KiB wait to be sent"
        /// A size or a range does not fit the value that it is used on.
        case outOfBounds = "a size or a range is out of bounds"
        /// The stream has ended, or the calls came in another order.
        case outOfOrder = "the stream has ended"
    }

    /// The name, for example `no_access`. SPEC §12 and the vectors use these names, except `cancelled`.
    package var name: String {
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
        case .cancelled: "cancelled"
        }
    }
}
