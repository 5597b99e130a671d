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

    static func cannotWrite(_ path: String, _ error: SystemError) -> CommandFailure {
        let name = DisplayText.quoted(path)
        switch error.number {
        case ENOENT, ENOTDIR:
            return CommandFailure(.notFound, "there is no directory for \(name)", file: path)
        case ENAMETOOLONG:
            return CommandFailure(
                .failed(.inputOutput), "cannot write \(name): the file name is too long",
                hints: ["tresor … {-C} -o FILE"], file: path)
        default:
            return CommandFailure(.failed(error.fault), "cannot write \(name): \(error.fault.rawValue)", file: path)
        }
    }
}
