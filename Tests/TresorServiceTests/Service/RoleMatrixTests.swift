// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Every operation on a tresor, by everybody, on a tresor of their own, of somebody else, and on none (A128).
    @Suite struct RoleMatrixTests {
        enum Role: CaseIterable, Sendable { case owner, writer, reader, newcomer, removed, operatorOfService, stranger }

        private static let operations: [ServiceOperation] = [.entries, .append, .wraps, .putWraps, .deleteTresor]

        /// The answers in the tresor of the household, by operation in the order above.
        private static let expected: [Role: [Int]] = [
            .owner: [200, 200, 200, 200, 200],
            .writer: [200, 200, 200, 403, 403],
            .reader: [200, 403, 200, 200, 403],
            .newcomer: [200, 403, 200, 403, 403],
            .removed: [200, 403, 403, 403, 403],
            .operatorOfService: [403, 403, 403, 403, 403],
            .stranger: [403, 403, 403, 403, 403],
        ]

        private struct Scene {
            let house: Household
            let foreign: TresorID
            let foreignHead: Head
            let stranger: Signer

            init() async throws {
                house = try await Household(Bench())
                let other = try await house.cast.person("other")
                let plans = try await house.cast.tresor("other", of: other)
                foreign = plans.id
                foreignHead = try await plans.state().head
                stranger = try await house.bench.person("stranger")
            }

            func signer(_ role: Role) throws -> Signer {
                switch role {
                case .owner: try house.signer(house.owner)
                case .writer: try house.signer(house.writer)
                case .reader: try house.signer(house.reader)
                case .newcomer: try house.signer(house.newcomer)
                case .removed: try house.signer(house.removed)
                case .operatorOfService: try house.bench.admin
                case .stranger: stranger
                }
            }

            /// A body that would be right for an owner, and for the reader whose wrap it puts.
            func body(
                _ operation: ServiceOperation, _ tresor: TresorID, _ head: Head, by signer: Signer
            ) async throws -> [UInt8] {
                switch operation {
                case .entries: return EntriesRequest(tresor: tresor, first: 0, limit: 10).bytes
                case .wraps: return WrapsRequest(tresor: tresor, epoch: nil, users: [house.reader.user]).bytes
                case .deleteTresor: return DeleteTresorRequest(tresor: tresor).bytes
                case .append:
                    let entry = try Entry(
                        tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: signer.identity,
                        time: house.bench.clock.now, body: .additive(.sample))
                    return AppendRequest(
                        tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
                        wraps: [], removing: []
                    ).bytes
                default:
                    let keys = try EpochKeys(epoch: try await house.state().epoch)
                    let wrap = try Wrap(
                        keys, of: tresor, for: house.reader.chain.newest, user: house.reader.user, history: .all)
                    return PutWrapsRequest(tresor: tresor, wraps: [wrap.bytes]).bytes
                }
            }
        }

        @Test(arguments: Role.allCases) func A128_everyoneDoesWhatTheirRoleAllows(_ role: Role) async throws {
            let scene = try await Scene()
            let house = scene.house
            let signer = try scene.signer(role)
            for (operation, status) in zip(Self.operations, try #require(Self.expected[role])) {
                let before = try await house.bench.rows()
                let head = try await house.state().head
                let body = try await scene.body(operation, house.tresor, head, by: signer)
                let reply = await signer.service.answer(try signer.call(operation, body))
                #expect(reply.status == status, "\(role) \(operation)")
                if status != 200 {
                    #expect(reply == .forbidden, "\(role) \(operation)")
                    #expect(try await house.bench.rows() == before, "\(role) \(operation)")
                }
            }
        }

        @Test(arguments: Role.allCases) func A128_nobodyLearnsWhichTresorsThereAre(_ role: Role) async throws {
            let scene = try await Scene()
            let signer = try scene.signer(role)
            let unknown = TresorID(try #require(Hash256(try randomBytes(32))))
            let before = try await scene.house.bench.rows()
            for operation in Self.operations {
                for head in [scene.foreignHead, Head(sequence: 3, hash: .zero)] {
                    let foreign = try await scene.body(operation, scene.foreign, head, by: signer)
                    let missing = try await scene.body(operation, unknown, head, by: signer)
                    #expect(await signer.service.answer(try signer.call(operation, foreign)) == .forbidden)
                    #expect(await signer.service.answer(try signer.call(operation, missing)) == .forbidden)
                }
            }
            #expect(try await scene.house.bench.rows() == before)
        }

        @Test func A128_aFirstEntryTellsNobodyWhichTresorsThereAre() async throws {
            let scene = try await Scene()
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

        @Test(arguments: [ServiceOperation.inbox, .admit, .invite])
        func A128_onlyTheOperatorAdmits(_ operation: ServiceOperation) async throws {
            let scene = try await Scene()
            for role in Role.allCases where role != .operatorOfService {
                let signer = try scene.signer(role)
                #expect(await signer.service.answer(try signer.call(operation, [])) == .forbidden)
            }
        }

        @Test func A128_whatBelongsToSomebodyElseStays() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let bert = try await bench.person("bert")
            let locator = try #require(Hash256(try randomBytes(32)))
            _ = try await anna.ask(PutKitCopyRequest(locator: locator, copy: [1]))
            #expect(try await bert.reply(PutKitCopyRequest(locator: locator, copy: [2])) == .forbidden)
            _ = try await bert.ask(DeleteKitCopyRequest(locator: locator))
            #expect(try await bert.ask(KitCopyRequest(locator: locator)).copy == [1])
            let card = PutCardRequest(chain: anna.identity.chain.bytes, replacing: anna.identity.chain.bytes)
            #expect(try await bert.reply(card) == .forbidden)
        }
    }
#endif
