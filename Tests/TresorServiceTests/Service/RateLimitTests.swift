// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing

    @testable import TresorService

    /// How often somebody may ask.
    @Suite struct RateLimitTests {
        private static let rate = RateLimits.Rate(count: 3, seconds: 10)
        private let start = ContinuousClock.now

        @Test func aBucketFillsAgain() {
            let limits = RateLimits()
            let key = RateLimits.Key.requests([1])
            for _ in 0..<3 { #expect(limits.take(key, Self.rate, at: start) == nil) }
            #expect(limits.take(key, Self.rate, at: start) == 11)
            #expect(limits.take(key, Self.rate, at: start + .seconds(9)) == 2)
            #expect(limits.take(key, Self.rate, at: start + .seconds(10)) == nil)
            #expect(limits.take(key, Self.rate, at: start + .seconds(10)) != nil)
            // It never holds more than it began with.
            for _ in 0..<3 { #expect(limits.take(key, Self.rate, at: start + .seconds(1_000)) == nil) }
            #expect(limits.take(key, Self.rate, at: start + .seconds(1_000)) == 11)
        }

        @Test func lookingTakesNothing() {
            let limits = RateLimits()
            let key = RateLimits.Key.failure([1])
            for _ in 0..<3 {
                for _ in 0..<9 { #expect(limits.look(key, Self.rate, at: start) == nil) }
                #expect(limits.take(key, Self.rate, at: start) == nil)
            }
            #expect(limits.look(key, Self.rate, at: start) == 11)
        }

        /// Requests that were used are counted, also where the bucket holds less.
        @Test func aBucketThatIsChargedBeyondItsEndFillsLater() {
            let limits = RateLimits()
            let key = RateLimits.Key.requests([1])
            for _ in 0..<3 { #expect(limits.take(key, Self.rate, at: start) == nil) }
            limits.charge(1, key, Self.rate, at: start)
            #expect(limits.look(key, Self.rate, at: start) == 21)
            #expect(limits.look(key, Self.rate, at: start + .seconds(19)) == 2)
            #expect(limits.take(key, Self.rate, at: start + .seconds(20)) == nil)
        }

        @Test func everybodyHasABucketForEachThing() {
            let limits = RateLimits()
            for _ in 0..<3 { _ = limits.take(.requests([1]), Self.rate, at: start) }
            #expect(limits.take(.requests([1]), Self.rate, at: start) != nil)
            #expect(limits.take(.requests([2]), Self.rate, at: start) == nil)
            #expect(limits.take(.registration([1]), Self.rate, at: start) == nil)
        }

        @Test func A230_networksOfIPv6ShareBuckets() {
            let now = start
            let limits = RateLimits(clock: { now })
            func source(_ line: UInt8, _ network: UInt8) -> [UInt8] { [0x20, 0x01, 0x0d, 0xb8, 0, 0, line, network] }
            for network: UInt8 in 0..<4 {
                for _ in 0..<100 { #expect(limits.take(.failure, of: source(1, network)) == nil) }
                #expect(limits.take(.failure, of: source(1, network)) != nil)
            }
            #expect(limits.look(.failure, of: source(1, 4)) != nil)
            #expect(limits.look(.failure, of: source(2, 4)) == nil)
            // This process has no limit.
            for _ in 0..<200 { #expect(limits.take(.failure, of: []) == nil) }
        }

        /// Very many keys neither take more memory nor more time, and the empty buckets are kept longest.
        @Test func aTableOfFixedSizeServesAnyNumberOfKeys() {
            let limits = RateLimits(setCount: 1)
            let empty = RateLimits.Key.requests([1])
            for _ in 0..<3 { _ = limits.take(empty, Self.rate, at: start) }
            for number in 0..<100_000 {
                let key = RateLimits.Key.registration(withUnsafeBytes(of: number) { Array($0) })
                #expect(limits.take(key, Self.rate, at: start) == nil)
                guard number.isMultiple(of: 1_000) else { continue }
                #expect(limits.look(empty, Self.rate, at: start) != nil)
            }
        }
    }
#endif
