// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Files that all tests of a process share. They go when the process ends.
public enum SharedFiles {
    private static let paths = Mutex<Set<String>>([])
    private static let removal: Void = {
        atexit {
            for path in SharedFiles.paths.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
        }
    }()

    /// Removes a file, or a folder with all in it, when the process ends.
    public static func removeAtExit(_ path: String) {
        _ = removal
        paths.withLock { _ = $0.insert(path) }
    }

    /// No longer removes it: it is gone already.
    public static func forget(_ path: String) {
        paths.withLock { _ = $0.remove(path) }
    }
}
