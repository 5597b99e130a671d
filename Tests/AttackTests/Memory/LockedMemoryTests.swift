// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// The message if the system does not lock memory.
    @Suite(.disabled(if: isSanitized, "a sanitizer takes the place of mlock")) struct LockedMemoryTests {
        @Test(.enabled(if: has("setpriv"), "setpriv is not present")) func A212_checkWarnsOfMemoryThatIsNotLocked()
            throws
        {
            let stage = try Stage("anna")
            let locked = try stage.expect(as: "anna", ["check"])
            // Root may lock whatever the limit is.
            let root = geteuid() == 0 ? "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock " : ""
            stage.wrapper = ["/bin/sh", "-c", "ulimit -l 0 && exec \(root)\"$@\"", "sh"]
            let loose = try stage.expect(as: "anna", ["check"])
            let warning = loose.split(separator: "\n").filter {
                $0.hasPrefix("warn memory  the system does not lock it")
            }
            #expect(warning.count == 1, "\(loose)")
            #expect(!locked.contains("memory"), "\(locked)")
            let json = try stage.expect(as: "anna", ["check", "--json"])
            #expect(json.contains("\"level\":\"warn\",\"subject\":\"memory\""), "\(json)")
            // Everything else works.
            try stage.expect(as: "anna", ["create", "plans"])
        }
    }
#endif
