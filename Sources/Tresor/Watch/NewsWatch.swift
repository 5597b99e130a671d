// SPDX-License-Identifier: Apache-2.0

package import TresorCore
import TresorCrypto

/// Waits until there is something to read: for the news of a service, and for a fixed time where a store has none.
///
/// The news of a service are hints. A service that leaves one out is noticed at the next reading of everything.
package struct NewsWatch: Sendable {
    /// The part of the logs that is to be read.
    package struct Part: Hashable, Sendable {
        /// The tresors that the store names.
        package var tresors: Set<TresorID> = []
        /// Whether the cards of people are read.
        package var hasPeople = false
        /// Whether all tresors are read.
        package var isWhole = false

        static let everything = Part(hasPeople: true, isWhole: true)
    }

    /// The time between two readings of everything, where a service has news.
    private static let wholeInterval = Duration.seconds(15 * 60)
    /// The least time between two readings of the cards of people, where a service has news.
    private static let peopleInterval = Duration.seconds(60)
    /// The least time between two requests for news.
    private static let pause = Duration.seconds(1)

    let client: Client
    /// The time between two readings where a store has no news.
    let interval: Duration
    /// The cursor of the last answer; `nil` where the store has no news.
    private var cursor: [UInt8]?
    private var lastWhole: ContinuousClock.Instant?
    private var lastPeople = ContinuousClock.now
    private var lastAsked: ContinuousClock.Instant?

    /// Makes a watch of the store of a client.
    ///
    /// - Parameter interval: the time between two readings where the store has no news.
    package init(client: Client, interval: Duration) {
        self.client = client
        self.interval = interval
    }

    /// Returns what is to be read next; `nil` when the task is cancelled. It names everything at once the first time.
    @concurrent package mutating func next() async -> Part? {
        if lastWhole != nil {
            defer { client.operation.hasWaited() }
            if let cursor { return await next(after: cursor) }
            do { try await Task.sleep(for: interval) } catch { return nil }
        }
        return await begin()
    }

    /// Asks where the news begin before everything is read, so that nothing falls in between.
    private mutating func begin() async -> Part? {
        let news = try? await client.guardedStore.ask(NewsRequest(cursor: [], seconds: 0))
        guard !Task.isCancelled else { return nil }
        cursor = news.flatMap { $0.cursor.isEmpty ? nil : $0.cursor }
        lastWhole = .now
        lastPeople = .now
        return .everything
    }

    private mutating func next(after cursor: [UInt8]) async -> Part? {
        do {
            if let lastAsked { try await Task.sleep(until: lastAsked + min(Self.pause, interval)) }
            lastAsked = .now
            let request = NewsRequest(cursor: cursor, seconds: NewsRequest.maximumSeconds)
            guard let news = try await client.guardedStore.ask(request) else { throw TresorError.unsupported }
            self.cursor = news.cursor.isEmpty ? nil : news.cursor
            return part(naming: news.tresors)
        } catch {
            // The next reading of everything says what is wrong.
            self.cursor = nil
            do { try await Task.sleep(for: interval) } catch { return nil }
            return await begin()
        }
    }

    private mutating func part(naming tresors: [TresorID]) -> Part {
        let now = ContinuousClock.now
        var part = Part(tresors: Set(tresors))
        if let lastWhole, now - lastWhole >= Self.wholeInterval {
            self.lastWhole = now
            lastPeople = now
            return .everything
        }
        if now - lastPeople >= max(interval, Self.peopleInterval) {
            lastPeople = now
            part.hasPeople = true
        }
        return part
    }
}
