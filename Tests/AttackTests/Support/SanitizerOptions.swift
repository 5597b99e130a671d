// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The sanitizer settings of a child: the search for leaks does not work under a tracer.
let sanitizerOptions = ProcessInfo.processInfo.environment.filter { ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key) }
