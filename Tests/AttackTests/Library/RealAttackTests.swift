// SPDX-License-Identifier: Apache-2.0

#if TRESOR_TESTING
    import Foundation
    import Testing
    import TresorStore

    @testable import Tresor
    @testable import TresorCrypto

    /// Each attack succeeds where the one check that defeats it is left out, and fails where it is not. Built by `scripts/attacks` alone.
    @Suite struct RealAttackTests {
        private func leavingOut<Result>(
            _ weakness: Weakness, _ body: () async throws -> Result
        ) async rethrows -> Result {
            try await Weakness.$allowed.withValue([weakness], operation: body)
        }

        @Test func A2_withoutTheCheckAForeignCommitmentIsTaken() async throws {
            let key = try SecretKey<SlotUse>()
            let other = try SecretKey<SlotUse>()
            let context: [UInt8] = [1]
            var sealed = try TC1.seal(context.span, with: key, label: .slotSeal, context: context.span)
            let forged = try TC1.seal(context.span, with: other, label: .slotSeal, context: context.span)
            sealed.replaceSubrange(24..<56, with: forged[24..<56])
            let open = { () throws(TresorError) in
                _ = try TC1.open(sealed.span, with: key, label: .slotSeal, context: context.span)
            }
            #expect(await failure(open) == .altered)
            #expect(await leavingOut(.keyCommitment) { await failure(open) } == nil)
        }

        @Test func A56_withoutSignaturesALogCanBeInvented() async throws {
            let circle = try await Circle.make()
            let log = try await circle.store.entries(of: circle.tresor, from: 0, limit: 9)
            var forged = log[1]
            forged[forged.count - 70] ^= 1
            let fold = { () throws(TresorError) in _ = try Fold.state(of: [log[0], forged], tresor: circle.tresor) }
            #expect(await failure(fold) == .altered)
            let changed = log[1].dropLast(64) + [UInt8](repeating: 0, count: 64)
            let invented = { () throws(TresorError) in
                _ = try Fold.state(of: [log[0], Array(changed)], tresor: circle.tresor)
            }
            #expect(await failure(invented) == .altered)
            #expect(await leavingOut(.signature) { await failure(invented) } == nil)
        }

        @Test func A57_withoutRolesAReaderLetsPeopleIn() async throws {
            let circle = try await Circle.make()
            let state = try await circle.anna.client.state(of: circle.tresor)
            let mallory = try Identity.make(handle: Name(typed: "mallory"), time: 1)
            let grant = Grant(people: [mallory.chain], role: .owner, notAfter: nil, fromNow: nil)
            let entry = try Entry(
                tresor: circle.tresor, sequence: state.head.sequence + 1, previous: state.head.hash,
                author: circle.house.identity, time: 2, body: .grant(grant))
            let apply = { () throws(TresorError) in
                var fold = Fold(state: state)
                try fold.apply(entry.bytes)
            }
            #expect(await failure(apply) == .noAccess)
            #expect(await leavingOut(.role) { await failure(apply) } == nil)
        }

        @Test func A23_withoutTheFloorACheapSlotIsTaken() async throws {
            let cheap = { () throws(TresorError) in _ = try Argon2id.Cost(memoryKiB: 8, passes: 1) }
            #expect(await failure(cheap) == .altered)
            #expect(await leavingOut(.cost) { await failure(cheap) } == nil)
        }

        @Test func A14_withoutTheCheckAnUnusableKEMKeyIsTaken() async throws {
            let key = [UInt8](repeating: 0xff, count: XWing.publicKeyByteCount)
            let read = { () throws(TresorError) in _ = try XWing.PublicKey(key) }
            #expect(await failure(read) == .altered)
            #expect(await leavingOut(.kemKey) { await failure(read) } == nil)
        }

        @Test func A43_withoutTrustAStrangerIsLetIn() async throws {
            let circle = try await Circle.make()
            let mallory = try await Circle.person("mallory", circle.scratch, circle.store)
            let act = Act.share(with: [mallory.identity.chain], role: .reader, fromNow: false, notAfter: nil)
            let share = { _ = try await circle.anna.perform(act, on: circle.tresor) }
            #expect(await failure(share) == .unverified)
            #expect(try await circle.store.wraps(of: mallory.identity.user, in: circle.tresor, epoch: nil) == [])
            #expect(await leavingOut(.trust) { await failure(share) } == nil)
            #expect(try await circle.store.wraps(of: mallory.identity.user, in: circle.tresor, epoch: nil).count == 1)
        }

        @Test func A59_withoutThePinnedHeadAnOlderLogIsBelieved() async throws {
            let circle = try await Circle.make()
            let newest = try await circle.anna.client.state(of: circle.tresor).head.sequence
            let older = MemoryStore()
            let first = try await circle.store.entries(of: circle.tresor, from: 0, limit: 1)
            let change = LogChange(tresor: circle.tresor, sequence: 0, previous: nil, entry: first[0])
            #expect(await older.append(change) == .done)
            let client = Circle.client("anna", circle.scratch, older)
            #expect(await failure { _ = try await client.state(of: circle.tresor) } == .forked)
            let believed = try await leavingOut(.head) { try await client.state(of: circle.tresor).head.sequence }
            #expect(believed < newest)
        }

        @Test func A79_withoutTheLogsCommitmentTheStoreChoosesTheKey() async throws {
            let circle = try await Circle.make()
            let state = try await circle.house.client.state(of: circle.tresor)
            let user = circle.house.identity.user
            let evil = try EpochKeys(epoch: 1)
            let wrap = try Wrap(
                evil, of: circle.tresor, for: circle.house.identity.chain.newest, user: user, history: .all)
            try await circle.store.putWraps([StoredWrap(user: user, epoch: 1, bytes: wrap.bytes)], in: circle.tresor)
            let session = Session(client: circle.house.client, identity: circle.house.identity)
            #expect(await failure { _ = try await session.keys(of: 1, in: state) } == .altered)
            let keys = try await leavingOut(.epochCommitment) { try await session.keys(of: 1, in: state) }
            let isEvil = keys.content.matches(evil.content)
            #expect(isEvil)
        }

        @Test func A26_withoutTheTagAnIdentityFileCanBeEdited() async throws {
            let circle = try await Circle.make()
            let kit = try RecoveryKit()
            let identity = circle.anna.identity
            let key = try kit.slotKey()
            let locator = try kit.locator()
            let slot = try identity.seal(under: key, id: .random(), kind: .kit(locator: locator), since: 1)
            let device = try identity.seal(
                under: SecretKey(), id: .random(), kind: .device(name: Name(typed: "ward"), until: 5), since: 1)
            let good = try IdentityFile(of: identity, previous: [], slots: [slot, device]).bytes
            let name = try #require(Data(good).range(of: Data("ward".utf8)))
            var bytes = good
            bytes[name.lowerBound] ^= 1
            let file = try IdentityFile(bytes)
            #expect(throws: TresorError.altered) { try file.open(kit: kit) }
            let opened = try await leavingOut(.tag) { try file.open(kit: kit) }
            #expect(opened.user == identity.user)
        }
    }
#endif
