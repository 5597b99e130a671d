// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCrypto

@testable import TresorCommand

/// A process with the rights of another user than its caller, as a set-uid or set-gid program has.
@Suite(.enabled(if: geteuid() == 0, "only root takes other rights")) struct HardeningTests {
    @Test func A109_aSetUidProcessIsRefused() async {
        await #expect(processExitsWith: .exitCode(23)) {
            guard seteuid(65_534) == 0 else { exit(1) }
            do throws(CommandFailure) {
                try Hardening.apply()
            } catch {
                exit(error.error == .failed(.permissions) ? 23 : 2)
            }
            exit(3)
        }
    }

    @Test func A109_aSetGidProcessIsRefused() async {
        await #expect(processExitsWith: .exitCode(23)) {
            guard setegid(65_534) == 0 else { exit(1) }
            do throws(CommandFailure) {
                try Hardening.apply()
            } catch {
                exit(error.error == .failed(.permissions) ? 23 : 2)
            }
            exit(3)
        }
    }

    @Test func A109_anyOtherProcessIsNot() async {
        await #expect(processExitsWith: .exitCode(23)) {
            guard setegid(65_534) == 0, setgid(65_534) == 0, setuid(65_534) == 0 else { exit(1) }
            do { try Hardening.apply() } catch { exit(2) }
            exit(23)
        }
    }
}
