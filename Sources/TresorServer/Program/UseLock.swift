// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    /// The lock by which processes say that they use a file: an open file description lock on its first byte. It ends with
    /// the descriptor, and is apart from that of flock(2).
    ///
    /// Where the system or the file system has no such lock, nobody ever has a file alone.
    enum UseLock {
        // The C library hides their names.
        #if canImport(Darwin)
            private static let (setting, waiting) = (Int32(90), Int32(91))
        #else
            private static let (setting, waiting) = (Int32(37), Int32(38))
        #endif

        /// Says that a file is used. Waits for a process that has it alone.
        static func share(_ descriptor: Int32) { _ = lock(descriptor, F_RDLCK, waiting) }

        /// Takes a file alone.
        ///
        /// - Returns: `false` if another process uses it.
        static func takeAlone(_ descriptor: Int32) -> Bool { lock(descriptor, F_WRLCK, setting) }

        private static func lock(_ descriptor: Int32, _ kind: Int32, _ command: Int32) -> Bool {
            var region = flock()
            region.l_type = Int16(kind)
            region.l_whence = Int16(SEEK_SET)
            region.l_start = 0
            region.l_len = 1
            while fcntl(descriptor, command, &region) != 0 {
                guard errno == EINTR else { return false }
            }
            return true
        }
    }
#endif
