// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

extension HTTPStore: RemoteStore {
    package var serviceCaller: any ServiceCaller { service }
    package var audience: Audience { service.audience }

    package func called<Answer>(
        by caller: Caller, _ calls: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await calls(HTTPStore(service.speaking(as: caller))) }
}

/// The wraps of many members.
extension HTTPStore {
    /// The users that one request for wraps names: they fit into 64 KiB.
    private static let usersOfRequest = 2000
    /// The most wraps that a person is believed to have in one tresor: 2^20.
    private static let mostWraps = 1 << 20

    /// Returns the wraps of many members of one tresor, in the order of `users`, in as few requests as they fit.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        var found: [[[UInt8]]] = []
        while found.count < users.count {
            let next = Array(users[found.count...].prefix(Self.usersOfRequest))
            var answer = try await service.call(WrapsRequest(tresor: tresor, epoch: epoch, users: next)).wraps
            guard answer.count <= next.count,
                epoch == nil || answer.allSatisfy({ $0.count <= Wrap.maximumCount })
            else { throw .store(.foreign) }
            if epoch == nil, answer.count == 1 {
                answer[0] += try await wraps(of: next[0], in: tresor, after: answer[0])
            }
            found += answer
        }
        return found
    }

    /// Reads on after the wraps of a person that stood alone in an answer.
    private func wraps(
        of user: UserID, in tresor: TresorID, after first: [[UInt8]]
    ) async throws(TresorError) -> [[UInt8]] {
        var wraps: [[UInt8]] = []
        var page = first
        var next: UInt64 = 0
        while WrapsAnswer.mayGoOn(page), let last = page.last {
            // Each page goes on after the one before, so that no service can have a client read for ever.
            guard let epoch = try? UnverifiedWrap(last).epoch, epoch >= next, epoch < .max, wraps.count < Self.mostWraps
            else {
                throw .store(.foreign)
            }
            next = epoch + 1
            let answer = try await service.call(WrapsRequest(tresor: tresor, from: next, users: [user])).wraps
            guard answer.count == 1 else { throw .store(.foreign) }
            page = answer[0]
            wraps += page
        }
        return wraps
    }
}
