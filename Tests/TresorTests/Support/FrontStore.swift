// SPDX-License-Identifier: Apache-2.0

import TresorCore

/// A store that stands before another.
protocol FrontStore: Store {
    var truth: any Store { get }
}
