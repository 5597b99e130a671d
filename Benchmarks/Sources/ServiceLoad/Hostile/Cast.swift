// SPDX-License-Identifier: Apache-2.0

import Foundation
import Serving
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The people before a service, in the embedded store from which it is made.
struct Cast: Sendable {
    let folder: String
    let store: SQLiteStore
    let authors: [Author]
    /// An identity of which the first author, who has renewed it, was robbed.
    let stolen: Identity
    /// The chains of people who have renewed their keys as often as one can, by rising user id.
    let elders: [CardChain]

    /// The path of the store, and that of the operator's card.
    var embedded: String { "\(folder)/embedded.db" }
    var card: String { "\(folder)/operator.card" }

    /// Makes 32 honest people, each with a tresor.
    init(in folder: String, elders: [CardChain]) async throws {
        self.folder = folder
        self.elders = elders
        store = try await SQLiteStore.open(at: "\(folder)/embedded.db", creating: true)
        stolen = try Identity.make(handle: Name(text: "author 0"), time: Site.clock())
        let (renewed, previous) = try stolen.renewCard(time: Site.clock())
        var authors = [try await Author(try await Person.make(renewed, previous: [previous], in: store))]
        while authors.count < HonestPeople.count {
            authors.append(try await Author("author \(authors.count)", in: store))
        }
        self.authors = authors
        try Data(authors[1].session.identity.chain.bytes).write(to: URL(filePath: "\(folder)/operator.card"))
    }

    /// Makes somebody with an account.
    ///
    /// - Parameter renewals: how often they have renewed their keys.
    func adversary(_ handle: String, renewals: Int = 0) async throws -> Identity {
        let identity = try Self.identity(handle, renewals: renewals)
        let chain = identity.chain
        let outcome = try await store.putCard(
            chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
        guard outcome == .done else { throw LoadFailure("the store refuses a card") }
        return identity
    }

    /// Makes people who have renewed their keys as often as one can.
    static func elders(_ count: Int) async throws -> [CardChain] {
        let width = 2
        return try await onThreads(width) { part in
            try stride(from: part, to: count, by: width).map { try identity("elder \($0)", renewals: 255).chain }
        }.flatMap { $0 }.sorted { $0.user < $1.user }
    }

    private static func identity(_ handle: String, renewals: Int) throws -> Identity {
        var identity = try Identity.make(handle: Name(text: handle), time: Site.clock())
        for _ in 0..<renewals { identity = try identity.renewCard(time: Site.clock()).identity }
        return identity
    }
}
