// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

/// The kind of a failure of the command: an error of the library, or a word of the command's own.
enum CommandError: Hashable, Sendable {
    /// An error of the library, other than `usage` and `cancelled`.
    case library(TresorError)
    /// Wrong arguments; the message says which.
    case usage
    /// The signal INT, TERM or HUP ended the command.
    case interrupted

    static let notFound = Self.library(.notFound)
    static let busy = Self.library(.busy)
    static let wrongPassword = Self.library(.wrongPassword)
    static let noAccess = Self.library(.noAccess)
    static let altered = Self.library(.altered)
    static let forked = Self.library(.forked)
    static let unverified = Self.library(.unverified)
    static let unsupported = Self.library(.unsupported)
    static let waiting = Self.library(.waiting)
    static func failed(_ fault: TresorError.Fault) -> Self { .library(.failed(fault)) }
    static func store(_ fault: TresorError.Fault) -> Self { .library(.store(fault)) }

    init(_ error: TresorError) {
        switch error {
        case .usage: self = .usage
        case .cancelled: self = .interrupted
        default: self = .library(error)
        }
    }

    /// The error that the library passes on when this failure happens below it.
    var passedOn: TresorError {
        switch self {
        case .library(let error): error
        case .usage: .failed(.other)
        case .interrupted: .cancelled
        }
    }

    /// Whether the store failed, or withheld an object.
    var isOfTheStore: Bool {
        guard case .library(.store(_)) = self else { return false }
        return true
    }

    /// The name in JSON.
    var name: String { row.rawValue }

    /// The exit code.
    var exitCode: Int32 { row.exitCode }

    /// The row of the table of SPEC §12.
    private var row: ErrorName {
        switch self {
        case .library(let error): ErrorName(rawValue: error.name) ?? .failed
        case .usage: .usage
        case .interrupted: .interrupted
        }
    }
}
