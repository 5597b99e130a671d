// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The attempts to have one request answered: at most three more within 10 seconds.
struct Attempts {
    private static let most = 3
    private static let time = Duration.seconds(10)
    private static let delays: [Duration] = [.milliseconds(50), .seconds(1), .seconds(3)]

    private(set) var id: [UInt8]
    private(set) var count = 0
    private var waited = Duration.zero
    private let clock: @Sendable () -> Duration
    private let start: Duration

    init(by clock: @escaping @Sendable () -> Duration) throws(TresorError) {
        self.clock = clock
        start = clock()
        id = try randomBytes(RequestStatement.idByteCount)
    }

    /// The time after which to ask again; `nil` for no more.
    func delay(atLeast least: Duration) -> Duration? {
        guard count < Self.most else { return nil }
        let delay = max(least, Self.delays[count])
        let spent = max(waited, clock() - start)
        return spent + delay <= Self.time ? delay : nil
    }

    /// Counts an attempt.
    ///
    /// - Parameter isKept: whether the service gives the answer to the same id again.
    mutating func goOn(isKept: Bool) throws(TresorError) {
        waited += Self.delays[count]
        count += 1
        if !isKept { id = try randomBytes(RequestStatement.idByteCount) }
    }
}
