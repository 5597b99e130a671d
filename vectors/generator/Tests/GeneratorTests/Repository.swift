// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The repository, found from this file.
enum Repository {
    static let root = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
}
