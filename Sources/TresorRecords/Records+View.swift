// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The view that the home has.
extension Records {
    /// Returns the view at the verified state of the home. A tresor that the home does not know is read from the store.
    func view() async throws(TresorError) -> RecordView { try await view(at: try await readableState()) }

    /// Returns the verified state of the home, likewise.
    ///
    /// - Throws: ``TresorError/waiting`` and ``TresorError/noAccess`` for who is no member;
    ///   ``TresorError/unverified`` while the founder was not compared; the errors of the home and of the store.
    func readableState() async throws(TresorError) -> LogState {
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
        return state
    }

    /// Checks that the founder was compared, now or before their keys were renewed.
    ///
    /// - Throws: ``TresorError/unverified``; the errors of the home.
    func checkFounder(of state: LogState) async throws(TresorError) {
        let trust = session.client.trust
        let isTrusted = try await Cores.apart { () throws(TresorError) in
            if try trust.founderTrust(in: state).isVerified { return true }
            return try trust.isKnownFromBefore(state)
        }
        guard isTrusted else { throw .unverified }
    }

    /// Returns the view at a state.
    ///
    /// An index of the home takes the place of the packs for which it stands. One is kept where it saves much.
    ///
    /// - Parameters:
    ///   - log: entries of the state that were read already.
    ///   - isAnew: whether no index counts.
    func view(
        at state: LogState, _ log: RecordEntries? = nil, isAnew: Bool = false
    ) async throws(TresorError) -> RecordView {
        let known = cache.view.flatMap { isAnew && $0.isIndexed ? nil : $0 }
        if let known, known.state.head == state.head, known.unread.isEmpty {
            let client = session.client
            let isCurrent = try await Cores.apart { () throws(TresorError) in try known.isCurrent(in: client) }
            if isCurrent { return known }
        }
        var start = known.flatMap { $0.goesOn(for: session.user, in: state) ? $0 : nil }
        if start == nil, !isAnew { start = try await RecordView.indexed(at: state, of: session) }
        var view = try await RecordView.read(at: state, from: start, of: session, log)
        if view.isWorthAnIndex(from: leastIndexedCount) {
            let file = IndexFile(session: session, tresor: tresor)
            let isKept = try? await Cores.apart { [view] () throws(TresorError) in try file.keep(view) }
            // A home that takes none is asked again after as many packs.
            if isKept != false { view = view.indexed() }
        }
        cache.view = view
        return view
    }

    /// Runs what reads packs and entries of the home. Where the home has lost or damaged one, the next pull asks for all that
    /// it lacks.
    ///
    /// Where an index stands for what is lost, the records are read again without it, as if it had never been there: behind
    /// a pull, if the store was asked before.
    func read<Value: Sendable>(
        _ known: RecordView, acceptingIncomplete: Bool = true,
        _ body: @escaping @Sendable (RecordView, PackReader) throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        // A view that was read anew since takes the place of one by an index.
        let anew = cache.view.flatMap { !$0.isIndexed && $0.state.head == known.state.head ? $0 : nil }
        let view = known.isIndexed ? anew ?? known : known
        guard acceptingIncomplete || view.table.isComplete else { throw .store(.withheld) }
        do throws(TresorError) {
            return try await Cores.apart { () throws(TresorError) in
                try body(view, PackReader(client: session.client, tresor: tresor))
            }
        } catch {
            switch error {
            case .store, .altered: await forgetView()
            default: throw error
            }
            guard view.isIndexed else { throw error }
        }
        if !cache.hasNotBegun {
            do throws(TresorError) {
                _ = try await pull()
            } catch {
                // Without the store, the home alone tells.
                guard case .store = error else { throw error }
            }
        }
        let whole = try await self.view(at: try await readableState(), isAnew: true)
        return try await read(whole, acceptingIncomplete: acceptingIncomplete, body)
    }

    /// Forgets the view, and the index of the home: the next pull would ask for nothing for which it stands.
    func forgetView() async {
        cache.view = nil
        let file = IndexFile(session: session, tresor: tresor)
        try? await Cores.apart { () throws(TresorError) in try file.forget() }
    }
}
