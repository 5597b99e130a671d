// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    import TresorRecords

    @testable import Tresor
    @testable import TresorCommand
    @testable import TresorRemote
    @testable import TresorService

    /// Exports that somebody brings to a service (SPEC §11.1).
    @Suite struct ServiceImportTests {
        /// The founder brings a log of which the service has a beginning, or nothing.
        @Test(arguments: [0, 1, 2, 5]) func A247_theFounderBringsALog(_ count: Int) async throws {
            let stage = try await ServiceRepairTests().stage(count)
            let export = try await stage.owner.client.exchange.export(stage.tresor)
            let owner = stage.after(stage.owner)
            let arrival = try await owner.client.exchange.take(export)
            #expect(arrival.entryCount == 6 - count && arrival.cardCount == 0)
            #expect(try await stage.restored.bench.service.check().isClean)
            for person in [stage.owner, stage.writer, stage.newcomer] {
                let session = stage.after(person)
                let state = try await session.tresor(stage.tresor).state()
                #expect(try await session.tresors.name(in: state) == Name(typed: "interventions"))
            }
            #expect(try await owner.client.exchange.take(export).isNothing)
        }

        /// The wraps of people who are members no more are not in an export; the founder makes them anew.
        @Test func A247_theFounderBringsALogOfWhichSomebodyWasRemoved() async throws {
            let stage = try await ServiceRepairTests().stage(0)
            let plans = stage.owner.tresor(stage.tresor)
            try await plans.perform(.revoke([stage.writer.user]))
            let export = try await stage.owner.client.exchange.export(stage.tresor)
            let owner = stage.after(stage.owner)
            #expect(try await owner.client.exchange.take(export).entryCount == 7)
            #expect(try await stage.restored.bench.service.check().isClean)
            let wraps = try await owner.client.store.wraps(of: stage.writer.user, in: stage.tresor, epoch: nil)
            #expect(wraps.isEmpty)
        }

        /// A member brings what others wrote, and the wraps that the members need.
        @Test func aMemberBringsWhatOthersWrote() async throws {
            let stage = try await ServiceRepairTests().stage(2)
            let export = try await stage.writer.client.exchange.export(stage.tresor)
            let writer = stage.after(stage.writer)
            let arrival = try await writer.client.exchange.take(export)
            #expect(arrival.entryCount == 4 && arrival.cardCount == 0 && arrival.wrapCount > 0)
            #expect(try await stage.restored.bench.service.check().isClean)
            let newcomer = stage.after(stage.newcomer)
            let state = try await newcomer.tresor(stage.tresor).state()
            #expect(try await newcomer.tresors.name(in: state) == Name(typed: "interventions"))
        }

        /// Records of two authors come with the log, whoever brings it. A service has the entries first.
        @Test(arguments: [0, 2]) func theRecordsComeWithTheLog(_ count: Int) async throws {
            let stage = try await ServiceRepairTests().stage(count)
            try await ServiceRepairTests.write(in: stage)
            let bringer = count == 0 ? stage.owner : stage.writer
            let export = try await stage.owner.client.exchange.export(stage.tresor)
            #expect(try await stage.after(bringer).client.exchange.take(export).blobCount == 2)
            try await ServiceRepairTests.expectRecords(in: stage)
        }

        /// The card of a member without an account stays in the log alone.
        @Test func A247_theCardsOfOthersAreNotPut() async throws {
            let stage = try await ServiceRepairTests().stage(0)
            let carl = try Identity.make(handle: Name(typed: "carl"), time: stage.now.bench.clock.now)
            try stage.owner.client.people.pinBlocking(carl.chain)
            try await stage.owner.tresor(stage.tresor).perform(
                .share(with: [carl.chain], role: .reader, fromNow: false, notAfter: nil))
            let export = try await stage.owner.client.exchange.export(stage.tresor)
            #expect(export.cards.contains { $0.user == carl.user })
            let arrival = try await stage.now.again(stage.writer).client.exchange.take(export)
            #expect(arrival.isNothing)
        }

        /// A person who may not bring the entries is refused before anything is sent.
        @Test func aNewTresorComesFromItsFounderAlone() async throws {
            let stage = try await ServiceRepairTests().stage(0)
            let export = try await stage.writer.client.exchange.export(stage.tresor)
            let before = try await stage.restored.bench.rows()
            let error = await errorOf { _ = try await stage.after(stage.writer).client.exchange.take(export) }
            #expect(error == .noAccess)
            #expect(try await stage.restored.bench.rows() == before)
            // Nor does somebody bring entries of a time before they came.
            let early = try await ServiceRepairTests().stage(2)
            let late = try await early.newcomer.client.exchange.export(early.tresor)
            let refused = await errorOf { _ = try await early.after(early.newcomer).client.exchange.take(late) }
            #expect(refused == .noAccess)
        }

        /// A former member brings nothing of a log that they could bring in part.
        @Test func A247_whoMayNotBringTheWholeLogBringsNothing() async throws {
            let (stage, export) = try await Self.logAfterTheWriter()
            let before = try await stage.restored.bench.rows()
            let error = await errorOf { _ = try await stage.after(stage.writer).client.exchange.take(export) }
            #expect(error == .noAccess)
            #expect(try await stage.restored.bench.rows() == before)
        }

        /// A log that goes on after the writer was removed. The service has its beginning.
        static func logAfterTheWriter() async throws -> (ServiceRepairTests.Stage, TresorExport) {
            let stage = try await ServiceRepairTests().stage(2)
            let plans = stage.owner.tresor(stage.tresor)
            try await plans.perform(.revoke([stage.writer.user]))
            try await plans.perform(.rename(Name(typed: "later")))
            return (stage, try await stage.owner.client.exchange.export(stage.tresor))
        }

        /// An import that breaks off anywhere leaves a log that folds. Repeating it brings the rest.
        @Test func A247_repeatingBringsTheRest() async throws {
            let first = try await ServiceRepairTests().stage(0)
            try await first.owner.tresor(first.tresor).perform(.revoke([first.writer.user]))
            let export = try await first.owner.client.exchange.export(first.tresor)
            let stage = first.restored
            var isCut = true
            var number = 0
            while isCut {
                // The answers of this and all later requests of the process are lost.
                let cut = number
                let (store, _) = stage.process(fault: { $0 >= cut ? .losingAnswer : nil })
                let client = Client(home: first.owner.client.home, store: store, clock: stage.bench.clock.read)
                let owner = Session(client: client, identity: first.owner.identity)
                isCut = await errorOf { _ = try await owner.client.exchange.take(export) } != nil
                #expect(try await stage.bench.service.check().findings.allSatisfy { $0.fault != .log })
                number += 1
            }
            #expect(number > 5)
            let owner = first.after(first.owner)
            #expect(try await owner.client.exchange.take(export).isNothing)
            #expect(try await stage.bench.service.check().isClean)
        }

        /// A mailed file is enough for a doctor to read and to answer, whose service does not have the tresor.
        @Test func aMailedFileIsReadWithAStoreOfOnesOwn() async throws {
            let hers = try await Bench(.open)
            let his = try await Bench(.open)
            let mine = try CommandStage(before: hers.service, clock: hers.clock)
            let yours = try CommandStage(before: his.service, clock: his.clock)
            try await mine.keygen("anna")
            try await mine.run(0, as: "anna", "register", "--no-login")
            try await yours.keygen("bruno")
            try await yours.run(0, as: "bruno", "register", "--no-login")
            let (card, plan, export, own) = (
                yours.path("bruno.card"), mine.path("plan.tresor"), mine.path("export"), yours.path("own.db")
            )
            try await yours.run(0, as: "bruno", "card", "-o", card)
            try mine.write("a plan", to: "plan")
            try await mine.run(0, as: "anna", "create", "plans")
            try await mine.run(0, as: "anna", "share", "-t", "plans", "--role", "writer", "bruno", "--card", card)
            try await mine.run(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", plan)
            try await mine.run(0, as: "anna", "export", "-t", "plans", "-o", export)
            let refusal = try await yours.failure(13, as: "bruno", "import", export)
            #expect(refusal.contains("a new tresor comes from its founder"))
            #expect(refusal.contains("--store FILE"))
            try await yours.run(0, as: "bruno", "import", export, "--store", own)
            let hersToo = mine.path("anna.card")
            try await mine.run(0, as: "anna", "card", "-o", hersToo)
            try await yours.run(0, as: "bruno", "verify", "anna", "--card", hersToo, "--store", own)
            #expect(try await yours.run(0, as: "bruno", "decrypt", plan, "--store", own) == "a plan")
            try yours.write("an answer", to: "answer")
            let answer = yours.path("answer.tresor")
            try await yours.run(
                0, as: "bruno", "encrypt", "-t", "anna/plans", "@answer", "-o", answer, "--store", own)
            #expect(try await mine.run(0, as: "anna", "decrypt", answer) == "an answer")
        }
    }
#endif
