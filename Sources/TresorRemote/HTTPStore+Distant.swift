// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

extension HTTPStore: LoginStore {
    package var caller: any ServiceCaller { service }
    package var audience: Audience { service.audience }
}

extension HTTPStore: DistantStore {
    /// The users that one request for wraps names: they fit into 64 KiB.
    static let usersOfRequest = 2000
    /// The most wraps that a person is believed to have in one tresor: 2^20.
    private static let mostWraps = 1 << 20

    package func allWraps(of users: [UserID], in tresor: TresorID) async throws(TresorError) -> [[[UInt8]]] {
        var found: [[[UInt8]]] = []
        while found.count < users.count {
            let next = Array(users[found.count...].prefix(Self.usersOfRequest))
            var answer = try await service.call(WrapsRequest(tresor: tresor, from: 0, users: next)).wraps
            guard answer.count <= next.count else { throw .store(.foreign) }
            if answer.count == 1 { answer[0] += try await wraps(of: next[0], in: tresor, after: answer[0]) }
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

    package func news(since cursor: [UInt8], seconds: UInt16) async throws(TresorError) -> StoreNews {
        let answer = try await service.call(NewsRequest(cursor: cursor, seconds: seconds))
        return StoreNews(cursor: answer.cursor, tresors: answer.tresors, more: answer.more)
    }

    package func putOffer(_ offer: [UInt8], at locator: Hash256) async throws(TresorError) -> StoreOutcome? {
        try await service.call(PutOfferRequest(locator: locator, offer: offer)).outcome
    }
}
