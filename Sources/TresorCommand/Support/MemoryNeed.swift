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
        let lower = [Argon2id.Cost.standard, .floor].first {
            $0.memoryKiB < cost.memoryKiB && UInt64($0.memoryKiB) << 10 < available
        }
        let (way, hint) = wayOut(to: lower, isNew: isNew)
        let hints = (isLimited ? ["ulimit -v unlimited"] : []) + [hint].compactMap(\.self)
        return CommandFailure(
            .failed(.memory),
            "this password takes \(cost.memoryKiB >> 10) MiB of memory, and \(room) \(available >> 20) MiB at most: \(way)",
            hints: hints)
    }

    /// The words for a lower cost, and the hint with it; `nil` where there is none.
    private static func wayOut(to lower: Argon2id.Cost?, isNew: Bool) -> (words: String, hint: String?) {
        guard let lower else { return ("the program needs some itself, and no password takes less", nil) }
        let (memory, passes) = (lower.memoryKiB >> 10, lower.passes)
        guard !isNew else { return ("choose a lower cost", "tresor … {--argon2id} --argon2id \(memory),\(passes)") }
        return (
            "the recovery kit sets a new password, which takes \(memory) MiB",
            lower == .standard ? "tresor recover" : "tresor recover --argon2id \(memory),\(passes)"
        )
    }

    private static var machineByteCount: UInt64 {
        UInt64(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }
}
