// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// People who wait, and approvers, at a service (SPEC §18.7).
    @Suite(.overEveryEngine) struct ApprovalTests {
        let bench: Bench
        let owner: Session
        let house: Session
        let clinic: Session
        let tresor: TresorID

        init() async throws {
            bench = try await Bench()
            let cast = PreviewCast(store: SignedStore(bench), clock: bench.clock)
            owner = try await cast.person("owner")
            house = try await cast.person("house")
            clinic = try await cast.person("clinic")
            try cast.introduce(owner, house, clinic)
            tresor = try await owner.tresors.create(Name(typed: "plans"), approvers: [clinic.chain]).tresor
        }

        private func state() async throws -> LogState { try await owner.client.logs.state(of: tresor) }

        private func share(fromNow: Bool = false) async throws {
            try await owner.tresors.perform(
                .share(with: [house.chain], role: .reader, fromNow: fromNow, notAfter: nil), on: tresor)
        }

        private func approve() async throws {
            let state = try await clinic.client.logs.state(of: tresor)
            for grant in PendingGrant.all(in: state) {
                try await Decisions(session: clinic).decide([.approve(grant)], on: tresor)
            }
        }

        private func append(_ body: EntryBody, by author: Session) async throws -> AppendRequest {
            try await append(body, by: author.identity)
        }

        private func append(_ body: EntryBody, by author: Identity) async throws -> AppendRequest {
            let head = try await state().head
            let entry = try Entry(
                tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: author,
                time: bench.clock.now, body: body)
            return AppendRequest(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: [],
                removing: [])
        }

        @Test func aPersonWaitsAndIsApproved() async throws {
            let file = try await owner.files.seal(
                [1, 2, 3], record: .empty, type: Name(typed: "text/plain"), in: tresor)
            try await share()
            #expect(try await clinic.client.store.tresors(of: clinic.user) == [tresor])
            do {
                _ = try await house.files.open(file, expecting: .anyTresor)
                Issue.record("opened before the approval")
            } catch {
                #expect(error == .waiting)
            }
            try await owner.tresors.perform(.rotate, on: tresor)
            try await approve()
            #expect(try await house.files.open(file, expecting: .anyTresor).content == [1, 2, 3])
            try await share(fromNow: false)
            try await owner.tresors.perform(.revoke([house.user]), on: tresor)
            try await share(fromNow: true)
            try await owner.tresors.perform(.setApprovers([]), on: tresor)
            try await owner.tresors.perform(.rotate, on: tresor)
            #expect(try await state().waiting.count == 1)
        }

        @Test func A128_whoWaitsDoesNothingButReadTheLog() async throws {
            try await share()
            let waiting = try bench.signer(house.identity)
            #expect(try await waiting.reply(EntriesRequest(tresor: tresor, first: 0, limit: 10)).status == 200)
            let own = WrapsRequest(tresor: tresor, epoch: nil, users: [house.user])
            #expect(try await waiting.ask(own).wraps == [try await bench.signer(owner.identity).ask(own).wraps[0]])
            let others = WrapsRequest(tresor: tresor, epoch: nil, users: [house.user, owner.user])
            #expect(try await waiting.reply(others) == .forbidden)
            #expect(try await waiting.reply(append(.additive(.sample), by: house)) == .refused(.noAccess))
            #expect(try await waiting.reply(DeleteTresorRequest(tresor: tresor)) == .forbidden)
            let keys = try await owner.keyRing.keys(of: 1, in: state())
            let plain = try Wrap(keys, of: tresor, for: house.chain.newest, user: house.user, history: .all)
            let put = PutWrapsRequest(tresor: tresor, wraps: [plain.bytes])
            #expect(try await waiting.reply(put) == .forbidden)
            // Not even an owner gives the keys to somebody who waits.
            #expect(try await bench.signer(owner.identity).reply(put) == .refused(.altered))
        }

        @Test func A128_anApproverReadsWrapsAndApproves() async throws {
            try await share()
            let approver = try bench.signer(clinic.identity)
            #expect(try await approver.reply(EntriesRequest(tresor: tresor, first: 0, limit: 10)).status == 200)
            let wraps = WrapsRequest(tresor: tresor, epoch: nil, users: [clinic.user, house.user])
            #expect(try await approver.reply(wraps).status == 200)
            #expect(try await approver.reply(append(.additive(.sample), by: clinic)) == .refused(.noAccess))
            #expect(try await approver.reply(DeleteTresorRequest(tresor: tresor)) == .forbidden)
            try await owner.tresors.perform(.setApprovers([]), on: tresor)
            let unknown = TresorID(try #require(Hash256(try randomBytes(32))))
            for tresor in [tresor, unknown] {
                #expect(try await approver.reply(EntriesRequest(tresor: tresor, first: 0, limit: 10)) == .forbidden)
            }
        }

        @Test func approversBringTheWrapsOfAllEpochsThatAreNeeded() async throws {
            try await share(fromNow: true)
            try await owner.tresors.perform(.rotate, on: tresor)
            let state = try await state()
            var wraps: [[UInt8]] = []
            for epoch in 2...state.epoch {
                let keys = try await owner.keyRing.keys(of: epoch, in: state)
                let wrap = try Wrap(
                    approval: keys.approvalKey(of: tresor), of: tresor, for: clinic.chain.newest, user: clinic.user)
                wraps.append(wrap.bytes)
            }
            try #require(wraps.count == 2)
            let request = try await append(.approvers(ApproversBody([Approver(clinic.chain)])), by: owner)
            let signer = try bench.signer(owner.identity)
            for wrong in [[], [wraps[0]], [wraps[0], wraps[0]], wraps + [wraps[0]]] as [[[UInt8]]] {
                #expect(try await signer.reply(request.with(wraps: wrong)) == .refused(.altered))
            }
            #expect(try await signer.ask(request.with(wraps: wraps)).outcome == .done)
        }

        /// A grant to the house, with its wraps and those of the approvers.
        private func grant(_ approvers: [CardChain]) async throws -> AppendRequest {
            let keys = try await owner.keyRing.keys(of: 1, in: state())
            var wraps = [
                try Wrap(waiting: keys, of: tresor, for: house.chain.newest, user: house.user, history: .all).bytes
            ]
            for chain in approvers {
                let key = try keys.approvalKey(of: tresor)
                wraps.append(try Wrap(approval: key, of: tresor, for: chain.newest, user: chain.user).bytes)
            }
            let body = GrantBody(people: [house.chain], role: .reader, notAfter: nil, fromNow: nil)
            return try await append(.grant(body), by: owner).with(wraps: wraps)
        }

        @Test func aServiceMayAskForItsApprovers() async throws {
            let other = try await bench.person("friend")
            let strict = try await bench.anotherService { $0.approvers = [clinic.chain, other.identity.chain] }
            let speaker = try bench.signer(owner.identity).at(strict)
            // A tresor of one person needs nobody who approves, and each tresor is one at first.
            #expect(try await speaker.ask(speaker.founding()).outcome == .done)
            #expect(try await speaker.reply(grant([clinic.chain])) == .forbidden)
            let request = try await append(.approvers(ApproversBody([Approver(clinic.chain)])), by: owner)
            #expect(try await speaker.reply(request) == .forbidden)
            let both = [clinic.chain, other.identity.chain].sorted { $0.user < $1.user }
            let naming = try await append(.approvers(ApproversBody(both.map(Approver.init))), by: owner)
            #expect(try await speaker.ask(naming).outcome == .done)
            #expect(try await speaker.ask(grant(both)).outcome == .done)
            let answer = try await speaker.ask(ServerRequest())
            #expect(answer.approvers == [clinic.chain.bytes, other.identity.chain.bytes])
            #expect(try await other.at(strict).ask(approval(by: other.identity)).outcome == .done)
        }

        /// Whether somebody approves whom the owner names beside the person whom the service demands.
        func takesAnotherApprover() async throws -> Bool {
            let strict = try await bench.anotherService { $0.approvers = [clinic.chain] }
            let speaker = try bench.signer(owner.identity).at(strict)
            let friend = try await bench.person("friend").at(strict)
            let both = [clinic.chain, friend.identity.chain].sorted { $0.user < $1.user }
            let naming = try await append(.approvers(ApproversBody(both.map(Approver.init))), by: owner)
            _ = try await speaker.ask(naming)
            _ = try await speaker.ask(grant(both))
            return try await friend.reply(approval(by: friend.identity)) != .forbidden
        }

        @Test func A128_nobodyApprovesWhomTheServiceDoesNotDemand() async throws {
            #expect(try await !takesAnotherApprover())
        }

        @Test func whoApprovesForAServiceNeedsNoApprover() async throws {
            let speaker = try bench.signer(owner.identity)
            let service = try await bench.anotherService { $0.approvers = [owner.chain] }
            let strict = try await bench.anotherService { $0.approvers = [clinic.chain] }
            // An owner cannot name themselves.
            let dropping = try await append(.approvers(ApproversBody([])), by: owner)
            #expect(try await speaker.at(strict).reply(dropping) == .forbidden)
            #expect(try await speaker.at(service).ask(dropping).outcome == .done)
            let request = try await plainGrant(to: house.chain, by: owner)
            #expect(try await speaker.at(strict).reply(request) == .forbidden)
            #expect(try await speaker.at(service).ask(request).outcome == .done)
        }

        /// Each of them shares alone, though neither can be an approver where they are owners. Another owner cannot share.
        @Test func twoOwnersWhomTheServiceDemandsShareAlone() async throws {
            try await owner.tresors.perform(.setApprovers([]), on: tresor)
            try await owner.tresors.perform(.rotate, on: tresor)
            try await owner.tresors.perform(
                .share(with: [clinic.chain, house.chain], role: .owner, fromNow: false, notAfter: nil), on: tresor)
            let owners = try await state().members.filter { $0.value.role == .owner }
            try #require(owners.count == 3)
            let demanding = try await bench.anotherService { $0.approvers = [owner.chain, clinic.chain] }
            let (friend, other) = (try await bench.person("friend"), try await bench.person("other"))
            let third = try bench.signer(house.identity).at(demanding)
            #expect(try await third.reply(plainGrant(to: friend.identity.chain, by: house)) == .forbidden)
            let both = [owner.chain, clinic.chain].sorted { $0.user < $1.user }
            let naming = try await append(.approvers(ApproversBody(both.map(Approver.init))), by: house)
            #expect(try await third.reply(naming) == .refused(.altered))
            for (author, chain) in [(owner, friend.identity.chain), (clinic, other.identity.chain)] {
                let speaker = try bench.signer(author.identity).at(demanding)
                #expect(try await speaker.ask(plainGrant(to: chain, by: author)).outcome == .done)
                let state = try await state()
                #expect(state.members[chain.user]?.admittedBy == author.user && state.waiting.isEmpty)
            }
        }

        /// A grant of a tresor without approvers, with its wrap.
        private func plainGrant(to chain: CardChain, by author: Session) async throws -> AppendRequest {
            let state = try await state()
            let keys = try await owner.keyRing.keys(of: state.epoch, in: state)
            let wrap = try Wrap(keys, of: tresor, for: chain.newest, user: chain.user, history: .all)
            let body = GrantBody(people: [chain], role: .reader, notAfter: nil, fromNow: nil)
            return try await append(.grant(body), by: author).with(wraps: [wrap.bytes])
        }

        /// The approval of the person who waits.
        private func approval(by author: Identity) async throws -> AppendRequest {
            let state = try await state()
            let pending = try #require(PendingGrant.all(in: state).first)
            let key = try await owner.keyRing.keys(of: state.epoch, in: state).approvalKey(of: tresor)
            let released = try ApprovalKeys([ApprovalKeys.Box(key)]).released(to: house.user)
            let release = try Release(
                released, grant: pending.grant, epoch: state.epoch, of: tresor, for: house.chain.newest,
                user: house.user)
            let body = ApproveBody(grant: pending.grant, epoch: state.epoch, releases: [release])
            return try await append(.approve(body), by: author).with(removing: state.approvers)
        }
    }
#endif
