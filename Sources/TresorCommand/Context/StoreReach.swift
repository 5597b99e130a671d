// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The home of a command on records, and its store while that can be asked (SPEC §19.7).
struct StoreReach {
    /// Without the store, nothing is asked of it.
    private(set) var context: CommandContext
    /// Why the store is not asked; `nil` while it answers.
    private(set) var absence: CommandFailure?
    private let isAbsence: @Sendable (CommandError) -> Bool

    /// Opens the home, and the store if it can be asked.
    ///
    /// - Parameter isAbsence: the errors with which a command goes on in a home that knows a tresor. A store that is not
    ///   there is absent too.
    /// - Throws: the errors of ``CommandContext/open(_:creating:identifying:)``.
    static func open(
        _ options: GlobalOptions, isAbsence: @escaping @Sendable (CommandError) -> Bool
    ) async throws -> StoreReach {
        do {
            return StoreReach(context: try await CommandContext.open(options), isAbsence: isAbsence)
        } catch {
            let failure = CommandFailure(error)
            guard failure.error == .notFound || isAbsence(failure.error) else { throw failure }
            let context = try CommandContext.local(options)
            guard let known = try? context.client.logs.knownBlocking(), !known.isEmpty else { throw failure }
            return StoreReach(context: context, absence: failure, isAbsence: isAbsence)
        }
    }

    private init(
        context: CommandContext, absence: CommandFailure? = nil,
        isAbsence: @escaping @Sendable (CommandError) -> Bool
    ) {
        (self.context, self.absence, self.isAbsence) = (context, absence, isAbsence)
    }

    /// Opens the identity. Without the store no device does, for the store has its server share.
    func unlock(to reason: String) async throws -> Session {
        do {
            return try await context.unlock(to: reason, acceptingDevice: absence == nil)
        } catch {
            guard let absence, CommandFailure(error).error == .usage else { throw error }
            throw CommandFailure(
                absence.error, "\(absence.message); without it, only the password opens the identity",
                hints: ["tresor … --password-file FILE"] + absence.hints)
        }
    }

    /// Finds a tresor in the store, or among those that the home knows.
    ///
    /// - Parameters:
    ///   - session: it asks no store any more once there is none.
    ///   - isNeeded: whether the store is asked about a tresor that the home knows.
    /// - Returns: also the state that the home had verified before; `nil` for none.
    mutating func find(
        _ text: String, for session: inout Session, isNeeded: Bool = true
    ) async throws -> (summary: TresorSummary, before: LogState?) {
        let kept = try session.tresors.kept(named: text)
        let known = kept.count == 1 ? kept.first { $0.state != nil } : nil
        if let known, absence != nil || !isNeeded { return (known, known.state) }
        if let absence { throw absence }
        do {
            let summary = try await context.tresors.find(text, for: session)
            return (summary, kept.first { $0.tresor == summary.tresor }?.state)
        } catch {
            guard let known else { throw error }
            try leave(CommandFailure(error), &session)
            return (known, known.state)
        }
    }

    /// Fetches what others changed of a tresor that was found.
    ///
    /// - Returns: the records, and the report; of what the home has where the store cannot be asked.
    mutating func pull(
        _ records: Records, for session: inout Session
    ) async throws -> (records: Records, report: SyncReport) {
        if absence == nil {
            do throws(TresorError) {
                let report = try await records.pull()
                await HomeRecords(of: records).keepWraps()
                return (records, report)
            } catch {
                guard try session.client.archive.verifiedState(of: records.tresor) != nil else { throw error }
                try leave(CommandFailure(error), &session)
            }
        }
        let kept = session.records(in: records.tresor)
        return (kept, try await HomeRecords(of: kept).report())
    }

    /// Asks the store no more.
    ///
    /// - Throws: the failure, unless it means that the store cannot be asked.
    private mutating func leave(_ failure: CommandFailure, _ session: inout Session) throws {
        guard isAbsence(failure.error) else { throw failure }
        absence = failure
        context = context.withoutStore
        session = Session(client: context.client, identity: session.identity)
    }
}

/// The records of one tresor as a command reads them: with what others changed, or as the home has them.
struct FetchedRecords {
    let context: CommandContext
    let session: Session
    let summary: TresorSummary
    /// The state by which they are read.
    let state: LogState?
    let records: Records
    let report: SyncReport
    /// Why the store was not asked; `nil` where it was.
    let absence: CommandFailure?

    var title: String { context.tresors.title(of: summary) }

    /// Opens the identity, finds the tresor, and fetches what others changed.
    ///
    /// - Parameter reason: completes "password for anna (to …)".
    /// - Throws: 13 for somebody who is no member, 16 while the founder was not compared.
    static func read(_ text: String, to reason: String, _ options: GlobalOptions) async throws -> FetchedRecords {
        // A home without room cannot take what is new, and reads what it has.
        var reach = try await StoreReach.open(options) { error in
            [.library(.store(.unreachable)), .library(.failed(.full))].contains(error)
        }
        var session = try await reach.unlock(to: reason)
        let (summary, _) = try await reach.find(text, for: &session)
        if let state = summary.state {
            try await reach.context.verifyOwner(of: state, for: session)
        }
        var outcome: (records: Records, report: SyncReport)?
        var refusal: TresorError?
        do {
            outcome = try await reach.pull(session.records(in: summary.tresor), for: &session)
        } catch let error as TresorError where error == .noAccess || error == .waiting {
            refusal = error
        }
        let state = try session.client.archive.verifiedState(of: summary.tresor) ?? summary.state
        if let state, let failure = reach.context.tresors.refusal(of: summary, in: state, session, writing: false) {
            throw failure
        }
        guard let outcome else { throw refusal ?? .noAccess }
        return FetchedRecords(
            context: reach.context, session: session, summary: summary, state: state, records: outcome.records,
            report: outcome.report, absence: reach.absence)
    }

    /// Says that the store was not asked, why, and how far the home had read; with `-q` too, since nothing else tells.
    func tellAbsence() {
        guard let absence else { return }
        let time = state.map { " of \(Timestamp(seconds: $0.headTime).dateAndMinute)" } ?? ""
        context.output.explain(
            "tresor: \(absence.message); this is what this home saw last, up to entry \(report.head)\(time)")
    }

    /// The party that lacks what is missing.
    var holder: String { absence == nil ? "the store" : "this home" }

    /// The proof that a shown record is the newest one, in words.
    var proof: String {
        if !report.isComplete { return "not proved to be the newest" }
        return absence == nil ? "newest at head \(report.head)" : "as of entry \(report.head)"
    }
}

extension JSONObject {
    /// Adds the head at which a record is the newest, or that this is not proved, or that the store was not asked.
    mutating func addProof(of read: FetchedRecords) {
        self["store_asked"] = .bool(read.absence == nil)
        if !read.report.isComplete { return self["incomplete"] = true }
        self[read.absence == nil ? "newest_at" : "as_of"] = .unsigned(read.report.head)
    }
}
