// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The view that the home has.
extension Records {
    /// Returns the view at the verified state of the home. A tresor that the home does not know is read from the store.
    func view() async throws(TresorError) -> RecordView {
        let state: LogState
        let client = session.client
        let known = try await Cores.apart { () throws(TresorError) in try client.archive.verifiedState(of: tresor) }
        if let known {
            state = known
        } else {
            state = try await session.client.logs.state(of: tresor)
        }
        if state.waiting[session.user] != nil { throw .waiting }
        guard state.members[session.user] != nil else { throw .noAccess }
        try await checkFounder(of: state)
        return try await view(at: state)
    }

    /// Checks that the founder was compared, now or before their keys were renewed.
    ///
    /// - Throws: ``TresorError/unverified``; the errors of the home.
    func checkFounder(of state: LogState) async throws(TresorError) {
        let trust = session.client.trust
        let isTrusted = try await Cores.apart { () throws(TresorError) in
            if try trust.founderTrustBlocking(in: state).isVerified { return true }
            return try trust.isKnownFromBefore(state)
        }
        guard isTrusted else { throw .unverified }
    }

    /// Returns the view at a state.
    ///
    /// - Parameter log: entries of the state that were read already.
    func view(at state: LogState, _ log: RecordEntries? = nil) async throws(TresorError) -> RecordView {
        let known = cache.view
        if let known, known.state.head == state.head, known.unread.isEmpty {
            let client = session.client
            let isCurrent = try await Cores.apart { () throws(TresorError) in try known.isCurrent(in: client) }
            if isCurrent { return known }
        }
        let view = try await RecordView.read(at: state, from: known, of: session, log)
        cache.view = view
        return view
    }
}
