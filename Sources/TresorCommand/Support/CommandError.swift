// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorConformance

/// The kind of a failure of the command: an error of the library, or a word of the command's own.
enum CommandError: Hashable, Sendable {
    case failed(TresorError.Fault)
    case notFound
    case busy
    case wrongPassword
    case noAccess
    case altered
    case forked
    case unverified
    /// Not approved yet: a word of a later stage.
    case waiting
    case store(TresorError.Fault)
    case unsupported
    /// Wrong arguments; the message says which.
    case usage
    /// The signal INT, TERM or HUP ended the command.
    case interrupted

    init(_ error: TresorError) {
        self =
            switch error {
            case .failed(let fault): .failed(fault)
            case .notFound: .notFound
            case .busy: .busy
            case .wrongPassword: .wrongPassword
            case .noAccess: .noAccess
            case .altered: .altered
            case .forked: .forked
            case .unverified: .unverified
            case .store(let fault): .store(fault)
            case .unsupported: .unsupported
            case .usage: .usage
            case .cancelled: .interrupted
            }
    }

    /// The error that the library passes on when this failure happens below it.
    var passedOn: TresorError {
        switch self {
        case .failed(let fault): .failed(fault)
        case .notFound: .notFound
        case .busy: .busy
        case .wrongPassword: .wrongPassword
        case .noAccess: .noAccess
        case .altered: .altered
        case .forked: .forked
        case .unverified: .unverified
        case .store(let fault): .store(fault)
        case .unsupported: .unsupported
        case .waiting, .usage: .failed(.other)
        case .interrupted: .cancelled
        }
    }

    /// The name in JSON.
    var name: String { row.rawValue }

    /// The exit code.
    var exitCode: Int32 { row.exitCode }

    /// The row of the table of SPEC §12.
    private var row: ErrorName {
        switch self {
        case .failed: .failed
        case .notFound: .notFound
        case .busy: .busy
        case .wrongPassword: .wrongPassword
        case .noAccess: .noAccess
        case .altered: .altered
        case .forked: .forked
        case .unverified: .unverified
        case .waiting: .waiting
        case .store: .store
        case .unsupported: .unsupported
        case .usage: .usage
        case .interrupted: .interrupted
        }
    }
}
