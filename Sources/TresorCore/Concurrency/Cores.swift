// SPDX-License-Identifier: Apache-2.0

import Dispatch

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Parallel work on all cores.
package enum Cores {
    /// The number of online processors.
    package static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Computes the values for `0..<count` in parallel and returns them in order.
    ///
    /// - Parameters:
    ///   - grain: the number of values that a core computes at once.
    ///   - body: computes the values of a range.
    /// - Throws: the failure of the first range that failed. All other ranges are computed nevertheless.
    package static func map<Value: Sendable>(
        _ count: Int, grain: Int, _ body: @Sendable (Range<Int>) throws(TresorError) -> [Value]
    ) throws(TresorError) -> [Value] {
        guard count > grain else { return try body(0..<count) }
        let ranges = (count + grain - 1) / grain
        var results = [Result<[Value], TresorError>](repeating: .success([]), count: ranges)
        unsafe results.withUnsafeMutableBufferPointer { results in
            nonisolated(unsafe) let results = unsafe results
            DispatchQueue.concurrentPerform(iterations: ranges) { index in
                let range = (index * grain)..<min((index + 1) * grain, count)
                func compute() -> Result<[Value], TresorError> {
                    Result { () throws(TresorError) in try body(range) }
                }
                unsafe results[index] = compute()
            }
        }
        var values: [Value] = []
        values.reserveCapacity(count)
        for result in results { values += try result.get() }
        return values
    }
}
