// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// Content from an asynchronous sequence of byte arrays of any size.
struct SequenceSource<Base: AsyncSequence>: ContentSource where Base.Element == [UInt8] {
    private var iterator: Base.AsyncIterator
    private var element: [UInt8] = []
    private var used = 0

    /// Takes the content from `base`.
    init(_ base: Base) { iterator = base.makeAsyncIterator() }

    /// Adds the next bytes to `output`. A failure of the sequence is ``TresorError/failed(_:)`` with `inputOutput`.
    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        while output.freeCapacity > 0 {
            if used == element.count {
                do {
                    guard let next = try await iterator.next(isolation: #isolation) else { return }
                    element = next
                } catch {
                    throw (error as? TresorError) ?? .failed(.inputOutput)
                }
                used = 0
            }
            let count = min(element.count - used, output.freeCapacity)
            output.append(element.span.extracting(used..<(used + count)))
            used += count
        }
    }
}
