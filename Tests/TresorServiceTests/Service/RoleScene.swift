// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Somebody who asks a service, seen from one tresor.
    enum Role: CaseIterable, Sendable {
        case owner, writer, reader, newcomer
        /// Named by a grant that nobody has approved.
        case waiting
        case approver
        case removed, operatorOfService, stranger
        /// Has asked for an account and waits for the operator.
        case applicant
        /// A trusted device of the owner, which speaks for itself.
        case device
        /// Signs, and has no account.
        case unknown
        /// Signs nothing.
        case nobody

        /// Whether it is a person with an active account.
        var isActive: Bool { ![.applicant, .device, .unknown, .nobody].contains(self) }
    }

    /// The tresor of a household, one of somebody else, and everybody who may ask for them.
    struct RoleScene {
        let house: Household
        let waiting: Session
        let approver: Session
        let foreign: TresorID
        let foreignHead: Head
        let stranger: Signer
        let applicant: Signer
        let device: Signer
        let share: DeviceShare

        init() async throws {
            house = try await Household(Bench(withLogins: true))
            let bench = house.bench
            waiting = try await house.cast.person("waiting")
            approver = try await house.cast.person("approver")
            try house.cast.introduce(house.owner, waiting, approver)
            let shared = house.owner.tresor(house.tresor)
            try await shared.perform(.setApprovers([approver.chain]))
            try await shared.perform(.rotate)
            try await shared.perform(
                .share(with: [waiting.chain], role: .reader, fromNow: false, notAfter: nil))
            let other = try await house.cast.person("other")
            let plans = try await house.cast.tresor("other", of: other)
            foreign = plans.id
            foreignHead = try await plans.state().head
            stranger = try await bench.person("stranger")
            let closed = try await bench.anotherService { $0.registration = .closed }
            applicant = try bench.stranger("applicant")
            let applying = Signer(
                service: closed, clock: bench.clock, identity: applicant.identity, key: applicant.key)
            _ = try await applying.ask(applying.registration())
            _ = try await applying.ask(try applying.finishing())
            (device, share) = try await house.signer(house.owner).trustedDevice()
        }

        /// Signs requests of a role. Each call returns another one without an account.
        func signer(_ role: Role) throws -> Signer {
            switch role {
            case .owner: try house.signer(house.owner)
            case .writer: try house.signer(house.writer)
            case .reader: try house.signer(house.reader)
            case .newcomer: try house.signer(house.newcomer)
            case .waiting: try house.signer(waiting)
            case .approver: try house.signer(approver)
            case .removed: try house.signer(house.removed)
            case .operatorOfService: try house.bench.admin
            case .stranger: stranger
            case .applicant: applicant
            case .device: device
            case .unknown, .nobody: try house.bench.stranger("unknown")
            }
        }

        func reply(to operation: ServiceOperation, _ body: [UInt8], by signer: Signer, _ role: Role) async throws
            -> ServiceReply
        {
            let call = try signer.call(operation, body)
            guard role == .nobody else { return await signer.service.answer(call) }
            return await signer.service.answer(
                ServiceCall(operation: operation, body: body, authorization: nil, source: call.source))
        }

        /// A body that would be right for an owner of the tresor, and for the reader whose wrap it puts.
        func body(
            _ operation: ServiceOperation, about tresor: TresorID, _ head: Head, by signer: Signer
        ) async throws -> [UInt8]? {
            switch operation {
            case .entries: return EntriesRequest(tresor: tresor, first: 0, limit: 10).bytes
            case .wraps: return WrapsRequest(tresor: tresor, epoch: nil, users: [house.reader.user]).bytes
            case .deleteTresor: return DeleteTresorRequest(tresor: tresor).bytes
            case .putBlob:
                return Self.body(of: PutBlobRequest(tresor: tresor, hash: head.hash, part: 0, bytes: [1]))
            case .blob: return BlobRequest(tresor: tresor, hash: head.hash, part: 0).bytes
            case .blobs: return BlobsRequest(tresor: tresor, hashes: [head.hash]).bytes
            case .deleteBlobs: return DeleteBlobsRequest(tresor: tresor, hashes: [head.hash]).bytes
            case .append:
                let entry = try Entry(
                    tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: signer.identity,
                    time: house.bench.clock.now, body: .additive(.sample))
                return AppendRequest(
                    tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
                    wraps: [], removing: []
                ).bytes
            case .putWraps:
                let keys = try EpochKeys(epoch: try await house.state().epoch)
                let wrap = try Wrap(
                    keys, of: tresor, for: house.reader.chain.newest, user: house.reader.user, history: .all)
                return PutWrapsRequest(tresor: tresor, wraps: [wrap.bytes]).bytes
            default: return nil
            }
        }

        /// The body of a request, also of one with a field of that name.
        private static func body(of request: some ServiceRequest) -> [UInt8] { request.bytes }

        /// A body for an operation that names no tresor. It is about what is the speaker's own.
        func body(_ operation: ServiceOperation, by signer: Signer) throws -> [UInt8] {
            let chain = signer.identity.chain
            let now = house.bench.clock.now
            switch operation {
            case .card: return CardRequest(user: house.owner.user).bytes
            case .cards: return CardsRequest(handle: chain.handle.bytes).bytes
            case .users: return UsersRequest(prefix: Array(chain.user.digest.bytes.prefix(3))).bytes
            case .putCard: return PutCardRequest(chain: chain.bytes, replacing: chain.bytes).bytes
            case .tresors: return TresorsRequest(after: .zero).bytes
            case .news: return NewsRequest(cursor: [], seconds: 0).bytes
            case .putServerShare: return try PutServerShareRequest(DeviceShare(user: signer.user)).bytes
            case .serverShare: return ServerShareRequest(device: share.id).bytes
            case .deleteServerShares: return DeleteServerSharesRequest(devices: [share.id]).bytes
            case .putKitCopy: return PutKitCopyRequest(locator: signer.user.digest, copy: [1]).bytes
            case .kitCopy: return KitCopyRequest(locator: signer.user.digest).bytes
            case .putOffer:
                let offer = [UInt8](repeating: 0, count: DeviceOffer.byteCount)
                return PutOfferRequest(locator: signer.user.digest, offer: offer).bytes
            case .login:
                let message = try OPAQUELogin(input: SecretBytes(randomCount: 8)).message
                return try LoginRequest(handle: chain.handle, message: message).bytes
            case .finishLogin:
                let (attempt, message) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 1, count: 64))
                return FinishLoginRequest(attempt: attempt, message: message).bytes
            case .deleteKitCopy: return DeleteKitCopyRequest(locator: signer.user.digest).bytes
            case .register: return signer.registration().bytes
            case .finish: return try signer.finishing().bytes
            case .account: return AccountRequest().bytes
            case .endSessions: return EndSessionsRequest().bytes
            case .inbox: return InboxRequest(after: .zero).bytes
            case .admit:
                return AdmitRequest(
                    user: applicant.user, card: applicant.identity.chain.newest.hash, isAdmitted: true
                ).bytes
            case .invite:
                return InviteRequest(hash: signer.user.digest, label: .empty, until: now + 10).bytes
            case .deleteAccount: return DeleteAccountRequest().bytes
            default: return []
            }
        }
    }

    extension PutServerShareRequest {
        /// A server share of nines for a device.
        init(_ device: DeviceShare) throws {
            self.init(
                device: device.id, share: [UInt8](repeating: 9, count: 32), deviceKey: try device.publicKey())
        }
    }

    extension Signer {
        /// Trusts a device of this person, and returns it as one who signs.
        func trustedDevice() async throws -> (Signer, DeviceShare) {
            let share = try DeviceShare(user: user)
            _ = try await ask(PutServerShareRequest(share))
            let key = try SessionKey(of: share, server: service.id, since: clock.now, duration: 3_600)
            return (Signer(service: service, clock: clock, identity: identity, key: key), share)
        }
    }
#endif
