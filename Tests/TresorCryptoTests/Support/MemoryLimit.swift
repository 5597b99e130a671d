// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Glibc

    /// Lets this process have `count` more bytes of address space than it has; for processes that an exit test began.
    func limitMemory(toAdditional count: UInt) -> Bool {
        guard let file = fopen("/proc/self/statm", "r") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, 256, file) != nil else { return false }
        let total = UInt(strtoul(line, nil, 10)) * UInt(sysconf(Int32(_SC_PAGESIZE))) + count
        var limit = rlimit(rlim_cur: total, rlim_max: total)
        return setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0
    }
#endif
