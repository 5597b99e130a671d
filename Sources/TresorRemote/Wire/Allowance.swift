// SPDX-License-Identifier: Apache-2.0

/// The time that an exchange has: its wait, and a second for each 8 KiB that has moved.
///
/// So a slow line carries a large body, and a connection on which hardly anything moves is left.
struct Allowance: Sendable {
    /// The least rate, in bytes a second: the one that a service demands (SPEC §18.3).
    static let leastRate = 8 << 10

    /// The time until which more has to move.
    private(set) var deadline: ContinuousClock.Instant

    /// - Parameters:
    ///   - wait: the time in which nothing may move.
    ///   - start: the beginning of the exchange.
    init(_ wait: Duration, from start: ContinuousClock.Instant) { deadline = start + wait }

    /// Notes that bytes have moved.
    mutating func moved(_ byteCount: Int) { deadline += .seconds(byteCount) / Self.leastRate }
}
