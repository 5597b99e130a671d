// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Messages for errors of the operating system.
extension CommandFailure {
    static func cannotOpen(_ path: String, _ error: SystemError) -> CommandFailure {
        let name = DisplayText.quoted(path)
        switch error.number {
        case ENOENT, ENOTDIR: return CommandFailure(.notFound, "there is no file \(name)", file: path)
        case EACCES, EPERM: return CommandFailure(.failed(.inputOutput), "\(name) cannot be read by you", file: path)
        default: return CommandFailure(.failed(.inputOutput), "cannot open \(name)", file: path)
        }
    }

    /// - Parameter hints: the command lines that write elsewhere, for a name that is too long.
    static func cannotWrite(_ path: String, _ error: SystemError, hints: [String] = []) -> CommandFailure {
        let name = DisplayText.quoted(path)
        switch error.number {
        case ENOENT, ENOTDIR:
            return CommandFailure(.notFound, "there is no directory for \(name)", file: path)
        case ENAMETOOLONG:
            return CommandFailure(
                .failed(.inputOutput), "cannot write \(name): \(tooLong(path))", hints: hints, file: path)
        default:
            return CommandFailure(.failed(error.fault), "cannot write \(name): \(error.fault.rawValue)", file: path)
        }
    }

    /// Which part of a path is too long, how long it is, and how long it may be.
    private static func tooLong(_ path: String) -> String {
        let parts = AtomicFile.split(path)
        let limit = pathconf(parts.directory, Int32(_PC_NAME_MAX))
        let count = parts.name.utf8.count
        guard limit > 0, count > limit else {
            return "the path is too long, with \(path.utf8.count) bytes where \(PATH_MAX - 1) fit"
        }
        return "the file name is too long, with \(count) bytes where \(limit) fit"
    }
}
