// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Every operation, by everybody, on what is their own, on somebody else's, and on what is not there (A128).
    @Suite(.overEveryEngine) struct RoleMatrixTests {
        /// The answers by operation, one sign for each of ``Role``, in its order: `+` done, `-` not allowed, `w` waits,
        /// `u` unknown. The tresor is that of the household.
        private static let table: [ServiceOperation: String] = [
            .server: "+++++++++++++", .kitCopy: "+++++++++++++", .putOffer: "+++++++++++++",
            // A password that is wrong for everybody: the attempt begins, and no end of it is good.
            .login: "+++++++++++++", .finishLogin: "-------------",
            .card: "+++++++++w-uu", .cards: "+++++++++w-uu", .users: "+++++++++w-uu", .putCard: "+++++++++w-uu",
            .tresors: "+++++++++w-uu", .news: "+++++++++w-uu",
            .entries: "+++++++--w-uu", .append: "++-------w-uu", .wraps: "++++-+---w-uu", .putWraps: "+-+------w-uu",
            .deleteTresor: "+--------w-uu",
            .putBlob: "++-------w-uu", .blob: "++++-----w-uu", .blobs: "++++-----w-uu", .deleteBlobs: "++-------w-uu",
            .putServerShare: "+++++++++w-uu", .serverShare: "+++++++++w+uu", .deleteServerShares: "+++++++++w+uu",
            .putKitCopy: "+++++++++w-uu", .deleteKitCopy: "+++++++++w-uu",
            .register: "++++++++++-+u", .finish: "++++++++++-uu", .account: "++++++++++-uu",
            .endSessions: "+++++++++w-uu", .deleteAccount: "+++++++-+w-uu",
            .inbox: "-------+-w-uu", .invite: "-------+-w-uu", .admit: "-------+-w-uu",
        ]

        /// All operations but the one that ends sessions. Those that take something away come last, and last of all the one
        /// that ends the role.
        private static func operations(_ role: Role) -> [ServiceOperation] {
            let last: [ServiceOperation] =
                [.deleteTresor]
                + (role == .device ? [.deleteAccount, .deleteServerShares] : [.deleteServerShares, .deleteAccount])
            return ServiceOperation.allCases.filter { !last.contains($0) && $0 != .endSessions } + last
        }
        private static let aboutTresors: [ServiceOperation] = [
            .entries, .append, .wraps, .putWraps, .putBlob, .blob, .blobs, .deleteBlobs, .deleteTresor,
        ]

        private static func expected(_ sign: Character) throws -> ServiceReply? {
            switch sign {
            case "-": return .forbidden
            case "w": return .refused(.waiting)
            case "u": return .unauthorized
            default: return nil
            }
        }

        /// Asks for an operation, and expects the answer of the table. A refusal changes nothing.
        private static func expectAnswer(
            to operation: ServiceOperation, by role: Role, _ scene: RoleScene
        ) async throws {
            let row = try #require(table[operation])
            #expect(row.count == Role.allCases.count)
            let column = try #require(Role.allCases.firstIndex(of: role))
            let bench = scene.house.bench
            let signer = try scene.signer(role)
            let before = try await bench.rows()
            let isAboutTresor = aboutTresors.contains(operation)
            let head = isAboutTresor ? try await scene.house.state().head : Head(sequence: 0, hash: .zero)
            let body =
                try await scene.body(operation, about: scene.house.tresor, head, by: signer)
                ?? scene.body(operation, by: signer)
            let reply = try await scene.reply(to: operation, body, by: signer, role)
            guard let refusal = try expected(Array(row)[column]) else {
                #expect(reply.status == 200, "\(role) \(operation)")
                return
            }
            #expect(reply == refusal, "\(role) \(operation)")
            #expect(try await bench.rows() == before, "\(role) \(operation)")
        }

        @Test(arguments: Role.allCases) func A128_everyoneDoesWhatTheirRoleAllows(_ role: Role) async throws {
            let scene = try await RoleScene()
            for operation in Self.operations(role) {
                try await Self.expectAnswer(to: operation, by: role, scene)
            }
        }

        /// It ends the sessions of the person who asks, and of nobody who asks after them. A device has those of its person.
        @Test func A128_everyoneEndsTheirOwnSessions() async throws {
            let scene = try await RoleScene()
            for role in Role.allCases where role != .device {
                try await Self.expectAnswer(to: .endSessions, by: role, scene)
            }
            try await Self.expectAnswer(to: .endSessions, by: .device, try await RoleScene())
        }

        @Test func A128_nobodyLearnsWhichTresorsThereAre() async throws {
            let scene = try await RoleScene()
            let unknown = TresorID(try #require(Hash256(try randomBytes(32))))
            let before = try await scene.house.bench.rows()
            for role in Role.allCases {
                try await Self.expectNothingLearnt(by: role, of: unknown, scene)
                #expect(try await scene.house.bench.rows() == before, "\(role)")
            }
        }

        /// The answers about somebody else's tresor are those about one that is not there.
        private static func expectNothingLearnt(
            by role: Role, of unknown: TresorID, _ scene: RoleScene
        ) async throws {
            let refusal: ServiceReply =
                switch role {
                case .applicant: .refused(.waiting)
                case .unknown, .nobody: .unauthorized
                default: .forbidden
                }
            for operation in aboutTresors {
                for head in [scene.foreignHead, Head(sequence: 3, hash: .zero)] {
                    for tresor in [scene.foreign, unknown] {
                        let signer = try scene.signer(role)
                        let body = try #require(await scene.body(operation, about: tresor, head, by: signer))
                        let reply = try await scene.reply(to: operation, body, by: signer, role)
                        #expect(reply == refusal, "\(role) \(operation)")
                    }
                }
            }
            guard role.isActive else { return }
            // Nor does a list name one.
            let signer = try scene.signer(role)
            #expect(try await !signer.ask(TresorsRequest(after: .zero)).tresors.contains(scene.foreign))
            let start = NewsCursor(since: 0)
            let news = try await signer.ask(NewsRequest(cursor: start.bytes, seconds: 0))
            #expect(!news.tresors.contains(scene.foreign))
        }

        @Test func A128_aFirstEntryTellsNobodyWhichTresorsThereAre() async throws {
            let scene = try await RoleScene()
            let genesis = try #require(scene.house.store.appends.first)
            // Somebody else's, byte for byte, where it is and where it is not.
            let empty = try await Bench()
            let there = try await scene.stranger.reply(genesis)
            let stranger = try await empty.person("stranger")
            #expect(there == .forbidden)
            #expect(try await stranger.reply(genesis) == there)
            // One that breaks a rule is refused for that, before anything is read.
            var bytes = genesis.entry
            bytes[bytes.count - 1] ^= 1
            let spoiled = genesis.with(entry: bytes)
            #expect(try await scene.stranger.reply(spoiled) == .refused(.altered))
            #expect(try await stranger.reply(spoiled) == .refused(.altered))
        }

        /// The answer about what is somebody else's, and about what is not there.
        private func expectEqual<Request: ServiceRequest>(
            _ theirs: Request, _ missing: Request, by signer: Signer, on bench: Bench,
            at source: SourceLocation = #_sourceLocation
        ) async throws {
            let before = try await bench.rows().dropLast()
            #expect(try await signer.reply(theirs) == signer.reply(missing), sourceLocation: source)
            #expect(try await bench.rows().dropLast() == before, sourceLocation: source)
        }

        @Test func A128_whatBelongsToSomebodyElseStays() async throws {
            let scene = try await RoleScene()
            let bench = scene.house.bench
            let bert = scene.stranger
            let anna = try scene.signer(.owner)
            let nobody = try bench.stranger("nobody")
            let locator = anna.user.digest
            _ = try await anna.ask(PutKitCopyRequest(locator: locator, copy: [1]))
            #expect(try await bert.reply(PutKitCopyRequest(locator: locator, copy: [2])) == .forbidden)
            try await expectEqual(
                DeleteKitCopyRequest(locator: locator), DeleteKitCopyRequest(locator: .zero), by: bert, on: bench)
            #expect(try await bert.ask(KitCopyRequest(locator: locator)).copy == [1])
            let device = try DeviceShare(user: bert.user).id
            try await expectEqual(
                ServerShareRequest(device: scene.share.id), ServerShareRequest(device: device), by: bert, on: bench)
            #expect(try await bert.ask(ServerShareRequest(device: scene.share.id)).share.isEmpty)
            try await expectEqual(
                DeleteServerSharesRequest(devices: [scene.share.id]), DeleteServerSharesRequest(devices: [device]),
                by: bert, on: bench)
            #expect(try await anna.ask(ServerShareRequest(device: scene.share.id)).share.count == 32)
            let chains = [anna, nobody].map(\.identity.chain.bytes)
            try await expectEqual(
                PutCardRequest(chain: chains[0], replacing: chains[0]),
                PutCardRequest(chain: chains[1], replacing: chains[1]), by: bert, on: bench)
            #expect(try await bert.reply(PutCardRequest(chain: chains[0], replacing: chains[0])) == .forbidden)
        }

        @Test func A128_whoWaitsIsShownToTheOperatorAlone() async throws {
            let scene = try await RoleScene()
            let bench = scene.house.bench
            let (bert, waiting) = (scene.stranger, scene.applicant)
            let nobody = try bench.stranger("nobody")
            try await expectEqual(
                CardRequest(user: waiting.user), CardRequest(user: nobody.user), by: bert, on: bench)
            try await expectEqual(
                CardsRequest(handle: waiting.identity.handle.bytes),
                CardsRequest(handle: nobody.identity.handle.bytes), by: bert, on: bench)
            try await expectEqual(
                UsersRequest(prefix: waiting.user.digest.bytes), UsersRequest(prefix: nobody.user.digest.bytes),
                by: bert, on: bench)
            #expect(try await bert.ask(CardRequest(user: waiting.user)).chain.isEmpty)
            let card = waiting.identity.chain.newest.hash
            let admin = try bench.admin
            try await expectEqual(
                AdmitRequest(user: bert.user, card: card, isAdmitted: false),
                AdmitRequest(user: nobody.user, card: card, isAdmitted: false), by: admin, on: bench)
            #expect(try await admin.ask(InboxRequest(after: .zero)).cases.count == 1)
        }
    }
#endif
