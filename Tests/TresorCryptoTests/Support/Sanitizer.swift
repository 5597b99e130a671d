// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Whether the tests run under a sanitizer, which has memory of its own and comes before every other library
/// (`scripts/sanitize`).
let isSanitized = ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] != nil
