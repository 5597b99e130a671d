// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The mailboxes of people who add a machine (SPEC §8.6, §18.7).
    @Suite(.overEveryEngine) struct MailboxTests {
        private static func offer(_ byte: UInt8) -> [UInt8] { .init(repeating: byte, count: DeviceOffer.byteCount) }

        /// The answer of the service under a locator.
        private func copy(_ locator: Hash256, _ signer: Signer) async throws -> [UInt8] {
            try await signer.ask(KitCopyRequest(locator: locator)).copy
        }

        /// An empty mailbox of a person, under their user id.
        private func open(_ signer: Signer, at locator: Hash256? = nil) async throws -> DeviceMailbox {
            let mailbox = DeviceMailbox(until: signer.clock.now + DeviceCode.duration)
            _ = try await signer.ask(
                PutKitCopyRequest(locator: locator ?? signer.user.digest, copy: mailbox.bytes))
            return mailbox
        }

        private func put(_ offer: UInt8, at locator: Hash256, _ bench: Bench) async throws -> StoreOutcome? {
            let call = ServiceCall(
                operation: .putOffer, body: PutOfferRequest(locator: locator, offer: Self.offer(offer)).bytes,
                authorization: nil, source: [127, 0, 0, 1])
            return try PutOfferAnswer(await bench.service.answer(call).body).outcome
        }

        @Test func A161_aStrangerMakesNoMailbox() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let before = try await bench.rows()
            #expect(try await put(1, at: anna.user.digest, bench) == nil)
            #expect(try await bench.rows() == before)
            // Neither do the bytes of a kit copy take an offer.
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            #expect(try await put(1, at: anna.user.digest, bench) == nil)
            #expect(try await copy(anna.user.digest, anna) == [1])
        }

        @Test func A161_aStrangerBeginsNoChangeWhereNoMailboxIs() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            let call = ServiceCall(
                operation: .putOffer, body: PutOfferRequest(locator: anna.user.digest, offer: Self.offer(1)).bytes,
                authorization: nil, source: [127, 0, 0, 1])
            #expect(try PutOfferAnswer(await service.answer(call).body).outcome == nil)
            #expect(engine.writeCount == 0)
            _ = try await open(anna)
            #expect(try PutOfferAnswer(await service.answer(call).body).outcome == .done)
            #expect(engine.writeCount == 1)
            #expect(try PutOfferAnswer(await service.answer(call).body).outcome == .done)
            #expect(engine.writeCount == 1)
            service.shutDown()
        }

        @Test func anEndedMailboxIsErased() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let engine = CountingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            try await service.sweep()
            #expect(engine.erasureCount == 0)
            let mailbox = try await open(anna)
            bench.clock.now = mailbox.until + 901
            try await service.sweep()
            #expect(engine.erasureCount == 1)
            #expect(try await bench.rows()[8].isEmpty)
            service.shutDown()
        }

        @Test func A161_theFirstOfferStandsAtTheService() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let bert = try await bench.person("bert")
            let mailbox = try await open(anna)
            let locator = anna.user.digest
            #expect(try await put(1, at: locator, bench) == .done)
            #expect(try await put(1, at: locator, bench) == .done)
            #expect(try await put(2, at: locator, bench) == .conflict)
            let taken = DeviceMailbox(until: mailbox.until, .offer(Self.offer(1)))
            #expect(try await copy(locator, bert) == taken.bytes)
            // Somebody else neither answers there nor takes it away.
            #expect(try await bert.reply(PutKitCopyRequest(locator: locator, copy: mailbox.bytes)) == .forbidden)
            _ = try await bert.ask(DeleteKitCopyRequest(locator: locator))
            #expect(try await copy(locator, bert) == taken.bytes)
            let answer = [UInt8](repeating: 3, count: DeviceAnswer.minimumByteCount)
            let answered = DeviceMailbox(until: mailbox.until, .answer(answer, to: Self.offer(1)))
            _ = try await anna.ask(PutKitCopyRequest(locator: locator, copy: answered.bytes))
            #expect(try await put(2, at: locator, bench) == .conflict)
            _ = try await anna.ask(DeleteKitCopyRequest(locator: locator))
            #expect(try await put(1, at: locator, bench) == nil)
        }

        @Test func A161_aPersonHasOneMailbox() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let bert = try await bench.person("bert")
            let kit = Hash256([UInt8](repeating: 4, count: 32)) ?? .zero
            _ = try await anna.ask(PutKitCopyRequest(locator: kit, copy: [1]))
            _ = try await open(anna)
            let theirs = try await open(bert)
            let second = try await open(anna, at: .zero)
            #expect(try await copy(anna.user.digest, anna).isEmpty)
            #expect(try await copy(.zero, anna) == second.bytes)
            #expect(try await copy(bert.user.digest, anna) == theirs.bytes)
            #expect(try await copy(kit, anna) == [1])
        }

        @Test func aMailboxMakesRoomForTheNext() async throws {
            let bench = try await Bench(quotas: { $0.kitCopies = 2 })
            let anna = try await bench.person("anna")
            let kit = Hash256([UInt8](repeating: 4, count: 32)) ?? .zero
            _ = try await anna.ask(PutKitCopyRequest(locator: kit, copy: [1]))
            _ = try await open(anna)
            let second = try await open(anna, at: .zero)
            #expect(try await copy(.zero, anna) == second.bytes)
            #expect(try await bench.rows()[8].count == 2)
        }

        @Test func A161_aMailboxIsTakenAtADifferenceOfClocks() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let fast = DeviceMailbox(until: bench.clock.now + 1500)
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: fast.bytes))
            #expect(try await put(1, at: anna.user.digest, bench) == .done)
            let slow = DeviceMailbox(until: bench.clock.now - 300)
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: slow.bytes))
            #expect(try await put(1, at: anna.user.digest, bench) == .done)
        }

        @Test func A161_aMailboxEndsWithItsCode() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let locator = anna.user.digest
            let tooLong = DeviceMailbox(until: bench.clock.now + 1501)
            #expect(
                try await anna.reply(PutKitCopyRequest(locator: locator, copy: tooLong.bytes)) == .refused(.altered))
            let damaged = DeviceMailbox(until: bench.clock.now).bytes + [0]
            #expect(try await anna.reply(PutKitCopyRequest(locator: locator, copy: damaged)) == .refused(.altered))
            let mailbox = try await open(anna)
            bench.clock.now = mailbox.until + 900
            #expect(try await copy(locator, anna) == mailbox.bytes)
            try await bench.service.sweep()
            #expect(try await bench.rows()[8].count == 1)
            bench.clock.now += 1
            #expect(try await copy(locator, anna).isEmpty)
            #expect(try await put(1, at: locator, bench) == nil)
            _ = try await anna.ask(PutKitCopyRequest(locator: .zero, copy: [1]))
            try await bench.service.sweep()
            #expect(try await bench.rows()[8].count == 1)
            #expect(try await copy(.zero, anna) == [1])
        }
    }
#endif
