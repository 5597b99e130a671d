// SPDX-License-Identifier: Apache-2.0

/// The names of errors, with the exit codes of the command (SPEC §12).
package enum ErrorName: String, Hashable, Sendable, CaseIterable {
    case failed
    case notFound = "not_found"
    case busy
    case wrongPassword = "wrong_password"
    case noAccess = "no_access"
    case altered
    case forked
    case unverified
    case waiting
    case store
    case unsupported
    case usage
    /// The command's word for a signal, and for a cancelled task.
    case interrupted

    /// The exit code of the command for this error.
    package var exitCode: Int32 {
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
