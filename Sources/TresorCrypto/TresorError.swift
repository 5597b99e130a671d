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

    /// The failure of a machine or a store. The list is closed, so that an error cannot carry any input.
    ///
    /// The names here are those that a store or a home gives, or a program acts on. The others have a sentence alone.
    public struct Fault: Hashable, Sendable, CustomStringConvertible {
        package let reason: Reason

        private init(_ reason: Reason) { self.reason = reason }

        /// Reading or writing failed.
        public static let inputOutput = Self(.inputOutput)
        /// The disk or quota is full.
        public static let full = Self(.full)
        /// The location is read-only.
        public static let readOnly = Self(.readOnly)
        /// A file or directory is accessible to other users or owned by another user.
        public static let permissions = Self(.permissions)
        /// The store file is damaged or is not a store.
        public static let damaged = Self(.damaged)
        /// The store lacks an object that it must have.
        public static let withheld = Self(.withheld)
        /// The store shows a shorter log than a file refers to.
        public static let behind = Self(.behind)
        /// The store has the change, but the home could not record it.
        public static let notNoted = Self(.notNoted)
        /// The service cannot be reached, or does not answer in time.
        public static let unreachable = Self(.unreachable)
        /// A date has passed, but only by the clock of this machine.
        public static let clock = Self(.clock)
        /// Any other cause.
        public static let other = Self(.other)

        /// The cryptographic library does not behave as SPEC §5 requires.
        package static let library = Self(.library)
        /// Memory is not available.
        package static let memory = Self(.memory)
        /// Another release created the store.
        package static let schema = Self(.schema)
        /// The store confirmed a write that the next verified read does not show.
        package static let notStored = Self(.notStored)
        /// The service cannot prove that it has its name.
        package static let certificate = Self(.certificate)
        /// The answer is not that of a tresor service.
        package static let foreign = Self(.foreign)
        /// A service has another time.
        package static let serviceClock = Self(.serviceClock)

        /// The name, for a log.
        public var description: String { String(describing: reason) }

        /// The sentence.
        package var rawValue: String { reason.rawValue }

        /// All of them.
        package static var allCases: [Self] { Reason.allCases.map { Self($0) } }

        /// The list, with its sentences.
        package enum Reason: String, CaseIterable, Sendable {
            case library = "the cryptographic library failed its start-up check"
            case memory = "out of memory"
            case inputOutput = "input or output failed"
            case full = "no space left"
            case readOnly = "not writable"
            case permissions = "permissions are too open"
            case damaged = "the store file is damaged or is not a store"
            case schema = "the store file has another layout"
            case withheld = "the store does not hand out what it must have"
            case behind = "the store is behind this file, or the file is not genuine"
            case notStored = "the store did not keep what it accepted"
            case notNoted = "the change is made, but this home could not be written; look before you repeat it"
            case unreachable = "it cannot be reached, or does not answer"
            case certificate = "its certificate is for another address, has expired, or comes from an unknown authority"
            case foreign = "the answer is not that of a tresor service"
            case clock = "this machine's clock is too far from the log's to end dates by it"
            case serviceClock = "this machine's clock is too far from that of the service to sign by either"
            case other = "an unexpected condition"
        }
    }

    /// The reason why an argument or an act is refused. The list is closed, so that an error cannot carry any input.
    ///
    /// The names here are those that a program acts on. The others have a sentence alone, for the person.
    public struct Misuse: Hashable, Sendable, CustomStringConvertible {
        package let reason: Reason

        private init(_ reason: Reason) { self.reason = reason }

        /// The password is empty, or a new one has fewer than 8 code points (SPEC §8.1).
        public static let passwordTooShort = Self(.passwordTooShort)
        /// The typed safety number is not 30 digits (SPEC §4.5).
        public static let safetyNumber = Self(.safetyNumber)
        /// The session was locked, and its keys are wiped.
        public static let locked = Self(.locked)
        /// The home already has an identity.
        public static let identityExists = Self(.identityExists)
        /// The text names several tresors.
        public static let ambiguous = Self(.ambiguous)
        /// This person already has a tresor with this name.
        public static let tresorExists = Self(.tresorExists)
        /// Resealing would open the file to members who cannot read it now (SPEC §10.7).
        public static let newcomers = Self(.newcomers)
        /// More than 1023 contents of more than 64 KiB would be changed at once, or wait to be sent (SPEC §8.5).
        public static let tooManyContents = Self(.tooManyContents)

        /// The password has more than 1024 bytes as typed.
        package static let passwordTooLong = Self(.passwordTooLong)
        /// The password is not UTF-8, or has a code point that nobody can type again.
        package static let passwordCharacters = Self(.passwordCharacters)
        /// A name that must not be empty is empty.
        package static let nameEmpty = Self(.nameEmpty)
        /// The name has more than 256 bytes.
        package static let nameTooLong = Self(.nameTooLong)
        /// A typed name begins with `-`, or a name has a code point that SPEC §4.4 refuses. A content type or a record
        /// name begins with `tresor/`.
        package static let nameCharacters = Self(.nameCharacters)
        /// The label is not 1 to 255 printable ASCII characters, or begins with `tresor/`.
        package static let domainLabel = Self(.domainLabel)
        /// The identity has 256 generations and cannot be renewed again.
        package static let tooManyGenerations = Self(.tooManyGenerations)
        /// The identity file would hold no key slot, or more than 256.
        package static let tooManySlots = Self(.tooManySlots)
        /// A time lies before 1970 or after the year 9999 (SPEC §2).
        package static let time = Self(.time)
        /// The act names nobody.
        package static let nobodyNamed = Self(.nobodyNamed)
        /// The act names a person twice.
        package static let namedTwice = Self(.namedTwice)
        /// No owner whose access has no end would remain.
        package static let lastOwner = Self(.lastOwner)
        /// The founder cannot be removed, and cannot have another role or an end.
        package static let founder = Self(.founder)
        /// A person removes themselves. Leaving is an act of its own.
        package static let yourself = Self(.yourself)
        /// The epochs that a member can read cannot change (SPEC §9.7).
        package static let historyCannotChange = Self(.historyCannotChange)
        /// An owner reads every epoch, so a person without the history cannot be one.
        package static let ownerWithoutHistory = Self(.ownerWithoutHistory)
        /// A change of a member is mixed with other people.
        package static let oneChangeAtATime = Self(.oneChangeAtATime)
        /// The tresor would have more members than SPEC §13 allows, or the entry more than 1 MiB.
        package static let tooManyPeople = Self(.tooManyPeople)
        /// The tresor would have more approvers than SPEC §13 allows.
        package static let tooManyApprovers = Self(.tooManyApprovers)
        /// An approver is a member or waits, or a person to be added is an approver.
        package static let approver = Self(.approver)
        /// A person waits, and their role or end cannot change until an approver has approved them.
        package static let stillWaiting = Self(.stillWaiting)
        /// A person waits through more epochs than a release holds (SPEC §9.11).
        package static let waitsTooLong = Self(.waitsTooLong)
        /// Another person founded the tresor.
        package static let notFounder = Self(.notFounder)
        /// The address of a service has another form, or is `http://` to another machine.
        package static let address = Self(.address)
        /// The content, or the sealed file, has more than 2^40 bytes.
        package static let contentTooLong = Self(.contentTooLong)
        /// A size or a range does not fit the value that it is used on.
        package static let outOfBounds = Self(.outOfBounds)
        /// The stream has ended, or the calls came in another order.
        package static let outOfOrder = Self(.outOfOrder)

        /// The name, for a log.
        public var description: String { String(describing: reason) }

        /// The sentence.
        package var rawValue: String { reason.rawValue }

        /// All of them.
        package static var allCases: [Self] { Reason.allCases.map { Self($0) } }

        /// The list, with its sentences.
        package enum Reason: String, CaseIterable, Sendable {
            case passwordTooShort = "the password is too short"
            case passwordTooLong = "the password is too long"
            case passwordCharacters = "the password has characters that cannot be used in one"
            case nameEmpty = "the name is empty"
            case nameTooLong = "the name is too long"
            case nameCharacters = "the name has characters that cannot be used in one"
            case safetyNumber = "a safety number has 30 digits"
            case domainLabel = "the label has another form"
            case locked = "the session is locked"
            case identityExists = "there is an identity in this home"
            case tooManyGenerations = "the identity cannot be renewed again"
            case tooManySlots = "the identity has too many devices"
            case time = "the time is out of range"
            case nobodyNamed = "nobody is named"
            case namedTwice = "a person is named twice"
            case lastOwner = "a tresor keeps at least one owner whose access has no end"
            case founder = "the founder of a tresor stays its owner"
            case yourself = "you cannot remove yourself"
            case historyCannotChange = "the history that a member can read cannot change"
            case ownerWithoutHistory = "an owner reads the whole history"
            case oneChangeAtATime = "members change one at a time"
            case tooManyPeople = "there are too many people"
            case tooManyApprovers = "a tresor has at most 16 approvers"
            case approver = "an approver is no member of the tresor"
            case stillWaiting = "the person waits for approval"
            case waitsTooLong = "the person has waited through too many key changes"
            case ambiguous = "several tresors have this name"
            case tresorExists = "you have a tresor with this name"
            case notFounder = "you are not the founder of this tresor"
            case address = "an address is https://HOST or https://HOST:PORT, or http:// to this machine"
            case newcomers = "newer members could open the file afterwards"
            case contentTooLong = "the content is too long"
            case tooManyContents = "at most 1023 contents above 64 KiB wait to be sent"
            case outOfBounds = "a size or a range is out of bounds"
            case outOfOrder = "the stream has ended"
        }
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
