// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The thread that writes the log.
    @Suite struct LineWriterTests {
        /// A reader of the log that takes nothing while it is stopped.
        private final class Reader: Sendable {
            let texts = Mutex<[String]>([])
            private let stopCount: Int
            private let reached = DispatchSemaphore(value: 0)
            private let ended = DispatchSemaphore(value: 0)

            /// - Parameter stopCount: the number of writes at which it stops, the first ones.
            init(stopping stopCount: Int) { self.stopCount = stopCount }

            var all: [String] { texts.withLock { $0 } }

            @Sendable func take(_ text: String) {
                let count = texts.withLock { texts in
                    texts.append(text)
                    return texts.count
                }
                guard count <= stopCount else { return }
                reached.signal()
                ended.wait()
            }

            /// Waits until it stops. One that never does leaves its test to fail.
            func reach() async throws {
                try await Cores.apart { _ = self.reached.wait(timeout: .now() + LineWriterTests.minutes) }
            }

            /// Lets it go on to its next write.
            func goOn() { ended.signal() }
        }

        /// No line of a test waits so long.
        private static let hour = DispatchTimeInterval.seconds(3_600)
        /// The time that a test allows for what is to be done at once.
        fileprivate static let minutes = DispatchTimeInterval.seconds(600)

        /// A line that shares its write with no other.
        private static func line(_ number: Int) -> String { "\(number) " + String(repeating: "x", count: 2_100) + "\n" }

        @Test("Lines of the log that come while others are written are written together, in order, and each whole")
        func writesLinesTogether() async throws {
            let reader = Reader(stopping: 1)
            let writer = LineWriter(reader.take)
            let lines = (0..<101).map { "\($0) " + String(repeating: "x", count: 90) + "\n" }
            writer.write(lines[0])
            try await reader.reach()
            for line in lines.dropFirst() { writer.write(line) }
            reader.goOn()
            try await Cores.apart { writer.finish(within: Self.minutes) }
            let written = reader.all
            #expect(written.joined() == lines.joined())
            let areWhole = written.allSatisfy { $0.hasSuffix("\n") && $0.utf8.count <= 4_096 }
            #expect(written.count == 4 && areWhole)
        }

        @Test("Each write that a slow reader of the log takes makes room for more lines")
        func eachWriteMakesRoom() async throws {
            let reader = Reader(stopping: 3)
            let writer = LineWriter(greatestCount: 4, reader.take)
            writer.write(Self.line(0))
            try await reader.reach()
            // The fifth finds no room.
            for number in 1...4 { writer.write(Self.line(number)) }
            // The next three are one batch. Of these the reader takes one, and stops at the second.
            for _ in 0..<2 {
                reader.goOn()
                try await reader.reach()
            }
            for number in 5...7 { writer.write(Self.line(number)) }
            reader.goOn()
            try await Cores.apart { writer.finish(within: Self.minutes) }
            let taken = [0, 1, 2, 3, 5, 6].map(Self.line)
            #expect(reader.all == taken)
        }

        @Test("An error is written at once, with the lines before it")
        func writesErrorsAtOnce() async throws {
            let reader = Reader(stopping: 2)
            let writer = LineWriter(pause: Self.hour, reader.take)
            let report = Report(logsSources: false, write: writer.write)
            report.say(.starting)
            try await reader.reach()
            reader.goOn()
            report.say(.listening, port: 1)
            report.say(.turnedAway, .warning)
            report.say(.sweepFailed, .error)
            try await reader.reach()
            reader.goOn()
            let events = reader.all.dropFirst().joined().split(separator: "\n").map { line in
                LogLine.Event.allCases.first { line.contains("\"event\":\"\($0.rawValue)\"") }
            }
            #expect(events == [.listening, .turnedAway, .sweepFailed])
        }

        @Test("The end writes what waits for the pause")
        func finishingWritesWhatWaits() async throws {
            let reader = Reader(stopping: 1)
            let writer = LineWriter(pause: Self.hour, reader.take)
            writer.write("a\n")
            try await reader.reach()
            reader.goOn()
            for text in ["b\n", "c\n"] { writer.write(text) }
            try await Cores.apart { writer.finish(within: Self.minutes) }
            #expect(reader.all == ["a\n", "b\nc\n"])
        }

        @Test("The end waits for no reader of the log that takes nothing")
        func finishingHasAnEnd() async throws {
            let reader = Reader(stopping: 1)
            let writer = LineWriter(reader.take)
            writer.write("a\n")
            try await reader.reach()
            writer.write("b\n")
            writer.finish(within: .nanoseconds(1))
            #expect(reader.all == ["a\n"])
            reader.goOn()
            try await Cores.apart { writer.finish(within: Self.minutes) }
            #expect(reader.all == ["a\n", "b\n"])
        }
    }
#endif
