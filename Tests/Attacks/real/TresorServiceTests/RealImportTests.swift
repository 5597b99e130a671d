// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorServer
    @testable import TresorService

    /// The attacks on what comes from elsewhere: a backup of the service, and the export of a tresor.
    extension RealServiceTests {
        @Test func A237_withoutTheChecksABackupRevivesWhatWasRevoked() async throws {
            try await Self.expectReal(without: .notedRevocation) {
                let noting = try await NotingBench()
                let anna = try await noting.person("anna")
                let (stolen, share) = try await anna.trustedDevice()
                let backup = try await Backup(of: noting.bench)
                _ = try await anna.ask(DeleteServerSharesRequest(devices: [share.id]))
                let service = try await noting.restart(from: backup)
                return try await stolen.at(service).reply(ServerShareRequest(device: share.id)).status == 200
            }
            try await Self.expectReal(without: .placedRevocation) {
                let bench = try await Bench(.open)
                let directory = try TestDirectory()
                let path = directory["server.key.revoked"]
                let log = try RevokedLog.open(at: path, of: bench.service.id, creating: true)
                let service = try await bench.anotherService { $0.revocations = log }
                let anna = try await bench.person("anna").at(service)
                let (_, share) = try await anna.trustedDevice()
                try FileManager.default.moveItem(atPath: path, toPath: directory["moved"])
                // Revoked sessions would stand where no start looks.
                return try await anna.reply(DeleteServerSharesRequest(devices: [share.id])).status == 200
            }
            try await Self.expectReal(without: .awaitedCard) {
                let noting = try await NotingBench()
                let thief = try await noting.person("anna")
                let backup = try await Backup(of: noting.bench)
                let anna = try noting.renewed(thief)
                _ = try await anna.publish(after: thief)
                let service = try await noting.restart(from: backup)
                noting.bench.clock.now += 1
                let fork = try noting.renewed(thief).at(service)
                return try await fork.publish(after: thief).status == 200
            }
            try await Self.expectReal(without: .operatorsCard) {
                let noting = try await NotingBench()
                let thief = try await noting.person("anna")
                try await noting.service.distrust(operator: nil)
                return try await noting.bench.renewed(noting.renewed(thief)).publish(after: thief).status == 200
            }
            try await Self.expectReal(without: .closedAccount) {
                // The backup has no row of the account.
                let (_, anna, service) = try await Self.closed()
                return try await anna.at(service).reply(anna.registration()).status == 200
            }
            try await Self.expectReal(without: .closedAccount) {
                // The backup has it as it was before it was active.
                let noting = try await NotingBench()
                let anna = try noting.bench.stranger("anna").at(noting.service)
                _ = try await anna.ask(anna.registration())
                let backup = try await Backup(of: noting.bench)
                _ = try await anna.ask(anna.finishing())
                try await noting.service.directory.close(anna.user)
                let service = try await noting.restart(from: backup)
                return try await anna.at(service).reply(anna.finishing()).status == 200
            }
            try await Self.expectReal(without: .closedAccount) {
                // Somebody waits whom an import left there.
                let (noting, anna, service) = try await Self.closed()
                let chain = anna.identity.chain
                _ = try await noting.bench.engine.write([
                    Account.insertion(of: chain, .complete, invitation: nil, at: noting.bench.clock.now)
                ])
                let admission = AdmitRequest(user: anna.user, card: chain.newest.hash, isAdmitted: true)
                return try await noting.bench.admin.at(service).reply(admission).status == 200
            }
            try await Self.expectReal(without: .closedAccount) {
                // Another person takes the handle.
                let noting = try await NotingBench()
                let backup = try await Backup(of: noting.bench)
                try await noting.service.directory.close(try await noting.person("anna").user)
                let rival = try noting.bench.stranger("anna").at(try await noting.restart(from: backup))
                return try await rival.reply(rival.registration()).status == 200
            }
            try await Self.expectReal(without: .keptRemoval) {
                // A writer who never saw the removal writes for the person who was removed, too.
                let restored = try await RestoredHousehold(to: 4)
                let reply = try await restored.reply(.additive(.sample), by: restored.house.writer, behind: 4)
                return reply == ServiceReply(OutcomeAnswer(.done))
            }
        }

        /// A service that starts from a backup of before an account was made, which the operator then closed.
        private static func closed() async throws -> (noting: NotingBench, anna: Signer, service: Service) {
            let noting = try await NotingBench()
            let backup = try await Backup(of: noting.bench)
            let anna = try await noting.person("anna")
            try await noting.service.directory.close(anna.user)
            return (noting, anna, try await noting.restart(from: backup))
        }

        @Test func A247_withoutTheChecksAnImportBreaksOff() async throws {
            try await Self.expectReal(without: .importedCard) {
                let stage = try await ServiceRepairTests().stage(0)
                let carl = try Identity.make(handle: Name(typed: "carl"), time: stage.now.bench.clock.now)
                try stage.owner.client.people.pinBlocking(carl.chain)
                try await stage.owner.tresor(stage.tresor).perform(
                    .share(with: [carl.chain], role: .reader, fromNow: false, notAfter: nil))
                let export = try await stage.owner.client.exchange.export(stage.tresor)
                let writer = stage.now.again(stage.writer)
                return await errorOf { _ = try await writer.client.exchange.take(export) } != nil
            }
            try await Self.expectReal(without: .importedWraps) {
                let stage = try await ServiceRepairTests().stage(0)
                try await stage.owner.tresor(stage.tresor).perform(.revoke([stage.writer.user]))
                let export = try await stage.owner.client.exchange.export(stage.tresor)
                let owner = stage.after(stage.owner)
                return await errorOf { _ = try await owner.client.exchange.take(export) } != nil
            }
            try await Self.expectReal(without: .importedEntries) {
                let (stage, export) = try await ServiceImportTests.logAfterTheWriter()
                let before = try await stage.restored.bench.rows()
                _ = await errorOf { _ = try await stage.after(stage.writer).client.exchange.take(export) }
                return try await stage.restored.bench.rows() != before
            }
        }
    }
#endif
