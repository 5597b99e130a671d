// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension TresorError: LocalizedError {
    /// Sentences for a person, as `localizedDescription` gives them: the thing, the reason, the way out.
    ///
    /// They are English, and may change with a release. To act on an error, compare the error itself.
    public var errorDescription: String? {
        switch self {
        case .failed(let fault): "This device failed: \(fault.rawValue). \(fault.reason.remedy)"
        case .notFound: "There is no such identity, person, tresor, member or file. Check the name."
        case .busy: "Somebody else is writing, or something changed during the operation. Look, and try again."
        case .wrongPassword: "The password or recovery kit does not open this identity. Enter it again."
        case .noAccess: "You have no access to this, or its author had none. Ask an owner of the tresor."
        case .altered: "This is damaged, forged, or not what you asked for. Get it again from its author."
        case .forked:
            "The store shows an older or a different history than before. Ask the other members what they see."
        case .unverified: "A person is not verified, or has changed keys. Compare safety numbers with them."
        case .waiting: "The operator of the service has not admitted you yet. Try again later."
        case .store(let fault): "The store failed: \(fault.rawValue). \(fault.reason.remedy)"
        case .unsupported: "A newer release made this. Update the program."
        case .usage(let misuse): "This cannot be done: \(misuse.rawValue). \(misuse.reason.remedy)"
        case .cancelled: "The task was cancelled. An act that was not yet sent has not happened. Look, and try again."
        }
    }
}

extension TresorError.Fault.Reason {
    /// The way out, as a sentence.
    fileprivate var remedy: String {
        switch self {
        case .library: "Install the program again."
        case .memory: "Close other programs, and try again."
        case .inputOutput: "Check the disk or the connection, and try again."
        case .full: "Free some space, and try again."
        case .readOnly: "Give yourself the right to write, and try again."
        case .permissions: "Make the files yours, and close them to other users."
        case .damaged: "Restore the store from a backup."
        case .schema: "Use the release that made the store."
        case .withheld: "Try again, or ask the operator of the store."
        case .behind: "Wait until the store is up to date, or ask the author of the file."
        case .notStored: "Try again, or ask the operator of the store."
        case .notNoted: "Make sure that you can write to this home."
        case .unreachable: "Check the connection and the address, and try again later."
        case .certificate: "Check the address, or trust the authority of the service."
        case .foreign: "Check the address, and whether a proxy answers in its place."
        case .clock, .serviceClock: "Set the clock."
        case .other: "Try again."
        }
    }
}

extension TresorError.Misuse.Reason {
    /// The way out, as a sentence.
    fileprivate var remedy: String {
        switch self {
        case .passwordTooShort: "Choose a password of at least 8 characters."
        case .passwordTooLong: "Choose a password of at most 1024 bytes."
        case .passwordCharacters: "Leave out control characters and invisible characters."
        case .nameEmpty: "Enter a name."
        case .nameTooLong: "Choose a name of at most 256 bytes."
        case .nameCharacters: "Leave out control characters and invisible characters, and a hyphen at the start."
        case .safetyNumber: "Enter all of them."
        case .domainLabel: "Use 1 to 255 printable ASCII characters, and do not begin with tresor/."
        case .locked: "Unlock the identity again."
        case .identityExists: "Unlock it, or choose another home."
        case .tooManyGenerations: "Make a new identity."
        case .tooManySlots: "Remove a device first."
        case .time: "Choose a time before the year 10000."
        case .nobodyNamed: "Name at least one person."
        case .namedTwice: "Name each person once."
        case .lastOwner: "Make another member an owner first."
        case .founder: "Name other people."
        case .yourself: "Leave the tresor instead."
        case .historyCannotChange: "Remove the member, and add them again."
        case .ownerWithoutHistory: "Share the whole history, or choose another role."
        case .oneChangeAtATime: "Name that member alone."
        case .tooManyPeople: "Name fewer people, or make another tresor for them."
        case .tooManyApprovers: "Name fewer approvers."
        case .approver: "Name another person."
        case .stillWaiting: "Revoke the share, and share again."
        case .waitsTooLong: "Revoke the share, and share again."
        case .ambiguous: "Enter the owner and the name, or the id."
        case .tresorExists: "Choose another name."
        case .notFounder: "Ask its founder."
        case .address: "Ask the operator of the service for its address."
        case .newcomers: "Accept these members, or leave the file as it is."
        case .contentTooLong: "Seal it in parts of less than a tebibyte."
        case .tooManyContents: "Send what is there first, and change fewer at once."
        case .outOfBounds: "Ask for what is there."
        case .outOfOrder: "Begin a new one."
        }
    }
}
