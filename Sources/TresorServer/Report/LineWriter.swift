// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization

    /// Writes the lines of the log one after the other, on a thread of its own: a reader that is slow, or none, holds up
    /// no request. Lines that come while too many wait are dropped.
    ///
    /// One after a pause is written at once, and those that come close behind it together, since each write wakes the
    /// thread. An error is written at once, with all that waits before it: it may be the last that this process says. A
    /// process that is killed or crashes loses the other lines of the last pause, and ``finish(within:)`` loses none.
    final class LineWriter: Sendable {
        /// A time at which what waits is written.
        private enum Schedule: Comparable {
            case none, afterPause, atOnce
        }

        private struct State {
            var lines: [String] = []
            /// The number of lines that wait or are being written.
            var count = 0
            var schedule = Schedule.none
            /// The time from which lines may be written.
            var next = DispatchTime(uptimeNanoseconds: 1)
        }

        /// Lines that are written together.
        private struct Batch {
            var text: String
            var count = 1
        }

        /// The most bytes of several lines in one write. Linux puts so many into a pipe whole (`PIPE_BUF`), so that nothing
        /// of other programs comes between. Other systems may promise that for fewer bytes.
        private static let byteCount = 4_096

        private let queue = DispatchQueue(label: "tresor.log")
        private let state = Mutex(State())
        private let greatestCount: Int
        private let pause: DispatchTimeInterval
        private let sink: @Sendable (String) -> Void

        /// - Parameters:
        ///   - greatestCount: the maximum number of lines that wait or are being written.
        ///   - pause: the least time between two writes of lines that are no errors.
        ///   - sink: takes one line or several.
        init(
            greatestCount: Int = 10_000, pause: DispatchTimeInterval = .milliseconds(10),
            _ sink: @escaping @Sendable (String) -> Void
        ) {
            self.greatestCount = greatestCount
            self.pause = pause
            self.sink = sink
        }

        /// Writes a line, an error at once.
        func write(_ line: LogLine) { write(line.text, atOnce: line.level == .error) }

        /// Writes a line, at once or after the pause.
        func write(_ text: String, atOnce: Bool = false) {
            let wanted = atOnce ? Schedule.atOnce : .afterPause
            let time = state.withLock { state -> DispatchTime? in
                guard state.count < greatestCount else { return nil }
                state.lines.append(text)
                state.count += 1
                guard state.schedule < wanted else { return nil }
                state.schedule = wanted
                return atOnce ? .now() : state.next
            }
            if let time { queue.asyncAfter(deadline: time) { self.writeWaiting() } }
        }

        /// Writes the lines that wait, and waits for that, but no longer than this time.
        func finish(within time: DispatchTimeInterval = .seconds(1)) {
            let end = DispatchSemaphore(value: 0)
            queue.async {
                self.writeWaiting()
                end.signal()
            }
            _ = end.wait(timeout: .now() + time)
        }

        private func writeWaiting() {
            let lines = state.withLock { state in
                defer { (state.lines, state.schedule) = ([], .none) }
                state.next = .now() + pause
                return state.lines
            }
            for batch in Self.batches(of: lines) {
                sink(batch.text)
                // A slow reader makes room with each write that it takes.
                state.withLock { $0.count -= batch.count }
            }
        }

        /// Joins lines, as many as one write takes.
        private static func batches(of lines: [String]) -> [Batch] {
            var batches: [Batch] = []
            for line in lines {
                if let last = batches.last, last.text.utf8.count + line.utf8.count <= byteCount {
                    batches[batches.count - 1].text += line
                    batches[batches.count - 1].count += 1
                } else {
                    batches.append(Batch(text: line))
                }
            }
            return batches
        }
    }
#endif
