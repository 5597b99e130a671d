// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Testing

/// The gate leaves these to the long run: tests that real time, chance, the system's schedule, or much memory decide.
public enum LongRun {
    /// Whether this is the long run, as `scripts/long` says with `TRESOR_LONG_RUN=1`.
    public static let isOn = ProcessInfo.processInfo.environment["TRESOR_LONG_RUN"] == "1"

    /// Chance in tests begins with this: one fixed number in the gate, another one in each long run. `TRESOR_SEED` names
    /// it.
    public static let seed: UInt64 = {
        if let named = ProcessInfo.processInfo.environment["TRESOR_SEED"].flatMap({ UInt64($0) }) { return named }
        guard isOn else { return 1 }
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("TRESOR_SEED=\(seed)")
        return seed
    }()
}

extension Collection {
    /// All elements in the long run; in the gate one of so many, the first one included. A number that has no factor in
    /// common with 8 meets every bit of a byte.
    public func sampled(_ interval: Int) -> [Element] {
        guard !LongRun.isOn else { return Array(self) }
        return enumerated().filter { $0.offset.isMultiple(of: interval) }.map(\.element)
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test or suite to the long run. The gate prints that it is skipped.
    public static var longRun: Self { .enabled(if: LongRun.isOn, "a part of scripts/long") }
}
