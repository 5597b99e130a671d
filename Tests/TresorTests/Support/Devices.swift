// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

extension World {
    /// A new home of a person, in which nothing but their identity lies.
    func device(of person: Session, seeing view: (any Store)? = nil) throws -> Session {
        let home = MemoryHome()
        let identity = try person.client.home.read(.identity)
        try home.replace(.identity, with: #require(identity))
        return session(of: person, home: home, seeing: view)
    }
}

/// The result of one `sync` of all tresors.
struct SyncResult {
    let outcome: KnownOutcome
    let report: OwnTresorSync.Report
    /// The tresors that failed.
    let errors: [TresorID: TresorError]
}

extension Session {
    /// The own tresors that the store and this home name, by rising id.
    func ownTresors() async throws -> [LogState] {
        try await tresors.all(readingStrangers: false).filter(\.isOwn).compactMap(\.state)
    }

    /// Syncs all tresors, as the command does.
    @discardableResult func exchange() async throws -> SyncResult {
        var exchange = try await OwnTresorSync(of: try await tresors.all(readingStrangers: false), self)
        let outcome = try await exchange.receive()
        var read: [TresorID] = []
        var errors: [TresorID: TresorError] = [:]
        for summary in try await tresors.all(readingStrangers: false) where !summary.isOwn && !summary.isApart {
            do throws(TresorError) {
                _ = try await records(in: summary.tresor).sync()
                read.append(summary.tresor)
            } catch {
                errors[summary.tresor] = error
            }
        }
        return SyncResult(outcome: outcome, report: try await exchange.send(read), errors: errors)
    }

    /// How this home came to know a person; `nil` for one who is not verified.
    func occasion(of person: UserID) throws -> Pin.Occasion? {
        try client.people.pinnedBlocking().first { $0.chain.user == person && !$0.isReplaced }?.occasion
    }
}
