// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization

    /// Writes the lines of the log one after the other, on a thread of its own: a reader that is slow, or none, holds up
    /// no request. Lines that come while too many wait are dropped.
    ///
    /// One after a pause is written at once, and those that come close behind it together, since each write wakes the
    /// thread.
    final class LineWriter: Sendable {
        private struct State {
            var lines: [String] = []
            /// The number of lines that wait or are being written.
            var count = 0
            var isScheduled = false
            /// The time from which lines may be written.
            var next = DispatchTime(uptimeNanoseconds: 1)
        }

        private static let greatestCount = 10_000
        /// The most bytes of several lines in one write, which a pipe takes whole.
        private static let byteCount = 4_096
        /// The least time between two writes, in milliseconds.
        private static let pause = 10

        private let queue = DispatchQueue(label: "tresor.log")
        private let state = Mutex(State())
        private let sink: @Sendable (String) -> Void

        /// - Parameter sink: takes one line or several.
        init(_ sink: @escaping @Sendable (String) -> Void) { self.sink = sink }

        func write(_ line: String) {
            let time = state.withLock { state -> DispatchTime? in
                guard state.count < Self.greatestCount else { return nil }
                state.lines.append(line)
                state.count += 1
                guard !state.isScheduled else { return nil }
                state.isScheduled = true
                return state.next
            }
            if let time { queue.asyncAfter(deadline: time) { self.writeWaiting() } }
        }

        /// Waits a second for the lines that wait.
        func finish() {
            let end = DispatchSemaphore(value: 0)
            queue.async {
                self.writeWaiting()
                end.signal()
            }
            _ = end.wait(timeout: .now() + 1)
        }

        private func writeWaiting() {
            let lines = state.withLock { state in
                defer { (state.lines, state.isScheduled) = ([], false) }
                state.next = .now() + .milliseconds(Self.pause)
                return state.lines
            }
            for text in Self.texts(of: lines) { sink(text) }
            state.withLock { $0.count -= lines.count }
        }

        /// Joins lines, as many as one write takes.
        private static func texts(of lines: [String]) -> [String] {
            var texts: [String] = []
            for line in lines {
                if let last = texts.last, last.utf8.count + line.utf8.count <= byteCount {
                    texts[texts.count - 1] += line
                } else {
                    texts.append(line)
                }
            }
            return texts
        }
    }
#endif
