// SPDX-License-Identifier: Apache-2.0

#if Server
    import TestSupport
    import Testing
    import TresorCore
    import TresorTesting

    @testable import TresorService

    /// A116: the time of an answer tells nobody whether somebody has a handle.
    @Suite struct LoginTimeTests {
        /// 1 000 log-ins under each of four names of one length: two that people have, and two that nobody has. One of those
        /// of people comes with the right password, the other one with a wrong one.
        @Test(.longRun) func A116_aThousandLogInsTellNobodyWhoHasAHandle() async throws {
            let scene = try await LoginScene()
            var settings = scene.bench.settings
            let (clock, begin, start) = (scene.bench.clock, scene.bench.clock.now, ContinuousClock.now)
            // The limits of the process are full again as often as those of the database.
            settings.steadyClock = { start + .seconds(Int64(clock.now - begin)) }
            let service = try Service(engine: scene.bench.engine, settings: settings)
            defer { service.shutDown() }
            for name in ["anna", "bert"] { _ = try await scene.person(name) }
            var messages: [LoginRequest] = []
            for name in ["anna", "bert", "cara", "dora"] {
                messages.append(try scene.first(name, name == "bert" ? "another password" : LoginScene.password))
            }
            var dice = SeededGenerator(seed: LongRun.seed)
            var begins: [[Double]] = []
            var ends: [[Double]] = []
            let (warming, count) = (50, 1_000)
            for round in 0..<(warming + count) {
                var times = (begins: [Double](repeating: 0, count: 4), ends: [Double](repeating: 0, count: 4))
                for number in (0..<4).shuffled(using: &dice) {
                    // All buckets are full: who came before has no influence.
                    clock.now += 601
                    let (answered, reply) = await Self.time(messages[number], at: service)
                    try #require(reply.status == 200)
                    let attempt = try LoginAnswer(reply.body).attempt
                    let wrong = FinishLoginRequest(attempt: attempt, message: [UInt8](repeating: 1, count: 64))
                    let (refused, refusal) = await Self.time(wrong, at: service)
                    try #require(refusal == .forbidden)
                    times.begins[number] = answered
                    times.ends[number] = refused
                }
                if round % 25 == 24 { try await service.sweep() }
                guard round >= warming else { continue }
                begins.append(times.begins)
                ends.append(times.ends)
            }
            for (step, rounds) in [("first message", begins), ("last message", ends)] {
                let names = TimeClasses(rounds: rounds)
                print("\(step), names that people have and others: \(names.said)")
                #expect(!names.areToldApart(by: &dice), "\(step): \(names.said)")
                Self.judgeMachine(names, step, by: &dice)
            }
            let passwords = TimeClasses(rounds: begins.map { Array($0[..<2]) })
            print("first message, right and wrong password: \(passwords.said)")
            #expect(!passwords.areToldApart(by: &dice), "\(passwords.said)")
        }

        /// It would be noticed if the names that people have took 10 % longer. Where chance alone does as much, the machine is
        /// too noisy to tell: scripts/long then says that something is missing, and the part has not passed.
        private static func judgeMachine(_ names: TimeClasses, _ step: String, by dice: inout SeededGenerator) {
            guard !names.slowed(by: slowness).areToldApart(by: &dice) else { return }
            let noise = names.noise(by: &dice)
            // With less, the difference of the classes and the slowness together are more than chance makes.
            #expect(noise > slowness / 3, "\(step): \(names.said)")
            let percent = (noise * 1_000).rounded() / 10
            print("missing: a machine that shows 10 % in a \(step): chance alone makes \(percent) %, \(names.said)")
        }

        /// The part of a time that is to be noticed.
        private static let slowness = 0.1

        /// The microseconds until a service has answered nobody in particular.
        private static func time(
            _ request: some ServiceRequest, at service: Service
        ) async -> (microseconds: Double, reply: ServiceReply) {
            let call = ServiceCall(
                operation: type(of: request).operation, body: request.bytes, authorization: nil,
                source: LoginScene.source)
            let start = ContinuousClock.now
            let reply = await service.answer(call)
            return ((ContinuousClock.now - start) / .microseconds(1), reply)
        }

        /// Two classes of one kind are not told apart, and those of two kinds are, where some times are much longer than others.
        @Test func classesOfTimesAreToldApartByWhatChanceDoesNotDo() {
            var dice = SeededGenerator(seed: 1)
            let rounds = (0..<40).map { _ in
                (0..<4).map { _ in
                    Double.random(in: 1_000...1_100, using: &dice) * (Int.random(in: 0..<50, using: &dice) == 0 ? 9 : 1)
                }
            }
            let equal = TimeClasses(rounds: rounds)
            #expect(!equal.areToldApart(by: &dice))
            #expect(equal.slowed(by: 0.05).areToldApart(by: &dice))
            #expect(equal.slowed(by: -0.05).areToldApart(by: &dice))
            #expect(equal.noise(by: &dice) < 0.03)
            let noisy = (0..<40).map { _ in (0..<4).map { _ in Double.random(in: 1_000...9_000, using: &dice) } }
            #expect(TimeClasses(rounds: noisy).noise(by: &dice) > 0.1)
        }
    }

    /// Times of two classes, which were taken in rounds.
    ///
    /// Chance tells how far apart they may be: it deals the times of each round out anew, so that the noise of the machine,
    /// and what changes from round to round, is that of both classes.
    private struct TimeClasses {
        /// The times of each round: those of the first class, then as many of the second.
        let rounds: [[Double]]

        /// How often chance deals.
        private static let dealCount = 2_000

        /// The differences of the classes: of the mean without the tenth that is fastest and the tenth that is slowest, and
        /// of the time that a quarter does not reach, on which other load has the least influence.
        private var differences: [Double] {
            let half = rounds[0].count / 2
            let first = Self.values(of: rounds.flatMap { $0[..<half] })
            let second = Self.values(of: rounds.flatMap { $0[half...] })
            return zip(first, second).map { $0 - $1 }
        }

        private static func values(of times: [Double]) -> [Double] {
            let sorted = times.sorted()
            let middle = sorted[(sorted.count / 10)..<(sorted.count - sorted.count / 10)]
            return [middle.reduce(0, +) / Double(middle.count), sorted[sorted.count / 4]]
        }

        /// Whether one of the differences is greater than chance makes it in all deals.
        func areToldApart(by dice: inout SeededGenerator) -> Bool {
            zip(differences, chance(by: &dice)).contains { abs($0) > $1 }
        }

        /// The part of a value by which chance alone tells the classes apart: the smaller one of both differences.
        func noise(by dice: inout SeededGenerator) -> Double {
            zip(chance(by: &dice), Self.values(of: rounds.flatMap(\.self))).map { $0 / $1 }.min() ?? 0
        }

        /// The greatest differences in all deals.
        private func chance(by dice: inout SeededGenerator) -> [Double] {
            var greatest = differences.map { _ in 0.0 }
            for _ in 0..<Self.dealCount {
                var dealt: [[Double]] = []
                dealt.reserveCapacity(rounds.count)
                for round in rounds { dealt.append(round.shuffled(using: &dice)) }
                greatest = zip(greatest, TimeClasses(rounds: dealt).differences).map { max($0, abs($1)) }
            }
            return greatest
        }

        /// The same times, if those of the first class took longer by a part of them.
        func slowed(by part: Double) -> TimeClasses {
            let half = rounds[0].count / 2
            return TimeClasses(
                rounds: rounds.map { round in
                    round.enumerated().map { $0.offset < half ? $0.element * (1 + part) : $0.element }
                })
        }

        /// The values of both classes, in microseconds.
        var said: String {
            let half = rounds[0].count / 2
            let classes = [rounds.flatMap { $0[..<half] }, rounds.flatMap { $0[half...] }]
            return classes.map { times in
                Self.values(of: times).map { "\(($0 * 10).rounded() / 10)" }.joined(separator: " and ")
            }.joined(separator: " beside ") + " µs"
        }
    }
#endif
