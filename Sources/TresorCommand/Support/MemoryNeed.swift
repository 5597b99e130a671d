// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The memory that a password takes, where it does not fit this machine.
enum MemoryNeed {
    /// The failure of work on the password.
    ///
    /// - Parameter isNew: whether the password is being set, and its cost may still be chosen.
    static func failure(for cost: Argon2id.Cost, isNew: Bool) -> CommandFailure {
        var limit = rlimit()
        #if canImport(Darwin)
            let memory = RLIMIT_AS
        #else
            let memory = __rlimit_resource_t(RLIMIT_AS.rawValue)
        #endif
        let isLimited = getrlimit(memory, &limit) == 0 && limit.rlim_cur < machineByteCount
        let available = isLimited ? UInt64(limit.rlim_cur) : machineByteCount
        let room = isLimited ? "this process may have" : "this machine has"
        let standard = Argon2id.Cost.standard
        let way =
            isNew
            ? "choose a lower cost"
            : "the recovery kit sets a new password, which takes \(standard.memoryKiB >> 10) MiB"
        let hints =
            (isLimited ? ["ulimit -v unlimited"] : [])
            + [
                isNew
                    ? "tresor … {--argon2id} --argon2id \(standard.memoryKiB >> 10),\(standard.passes)"
                    : "tresor recover"
            ]
        return CommandFailure(
            .failed(.memory),
            "this password takes \(cost.memoryKiB >> 10) MiB of memory, and \(room) \(available >> 20) MiB at most: \(way)",
            hints: hints)
    }

    private static var machineByteCount: UInt64 {
        UInt64(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }
}
