// SPDX-License-Identifier: Apache-2.0

/// What a caller expects of a file. One that does not hold is ``TresorError/altered``: it is not the file that was asked for.
public struct Expectations: Sendable {
    /// The tresor it must be in.
    public var tresor: TresorID?
    /// The record name it must have.
    public var record: Name?
    /// The person whose content it must be.
    public var author: UserID?
    /// Whether its author must still be owner or writer, with the same generation; else ``TresorError/noAccess``.
    public var currentAuthor = false
    /// Whether to judge by the log that this home has verified, whatever the store shows now; ``TresorError/forked`` where there is none. Nothing is
    /// remembered then.
    public var acceptingForked = false
    /// Whether to read although nobody compared the owner's number. Nothing is remembered then.
    public var acceptingUnverified = false

    /// Expects nothing.
    public init() {}

    fileprivate func areMet(by proof: FileProof) -> Bool {
        (tresor == nil || tresor == proof.tresor) && (record == nil || record == proof.record)
            && (author == nil || author == proof.author.user)
    }
}

/// Sealing and opening the files of tresors (SPEC §10).
public struct Files: Sendable {
    let session: Session

    var client: Client { session.client }
    var identity: Identity { session.identity }

    /// Seals a content for everybody in a tresor, under its current key. A tresor marked *rotate first* is rotated before.
    ///
    /// - Parameters:
    ///   - content: sealed untouched.
    ///   - record: may be empty.
    ///   - type: a content type.
    ///   - tresor: the tresor to seal for.
    /// - Throws: ``TresorError/noAccess`` unless owner or writer; ``TresorError/unverified`` when the tresor's owner is not verified.
    @concurrent public func seal(
        _ content: [UInt8], record: Name = .empty, type: Name, in tresor: TresorID
    ) async throws(TresorError) -> SealedFile {
        let state = try await writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        return try FileSealer.sealFile(
            content, type: type, record: record, keys: keys, state: state, author: identity, time: client.clock())
    }

    /// The state to write at: one in which this person may, where an owner has put out whose date has passed, rotated before if it is marked so, by
    /// whoever is faster.
    @concurrent func writableState(of tresor: TresorID) async throws(TresorError) -> LogState {
        for _ in 0..<4 {
            do throws(TresorError) {
                let state = try await session.tresors.settle(tresor)
                try checkMayWrite(in: state)
                if try await !session.tresors.needsNextEpoch(in: state) { return state }
            } catch {
                guard error == .busy else { throw error }
                continue
            }
            do throws(TresorError) {
                try await session.tresors.beginNextEpoch(of: tresor)
            } catch {
                guard error == .busy || error == .noAccess, try await !client.logs.state(of: tresor).isRekeyPending
                else {
                    throw error
                }
            }
        }
        throw .busy
    }

    private func checkMayWrite(in state: LogState) throws(TresorError) {
        guard let me = state.members[identity.user], me.role != .reader,
            state.chain(of: identity.user)?.newest == identity.chain.newest,
            me.notAfter.map({ client.clock() <= $0 }) ?? true
        else { throw .noAccess }
        guard try client.trust.founderTrust(in: state).isVerified else { throw .unverified }
    }

    /// Opens a sealed file after every check (SPEC §10.5).
    ///
    /// - Throws: ``TresorError/noAccess``, ``TresorError/unverified``, ``TresorError/altered``, ``TresorError/forked``. Nothing of the content is released
    ///   with an error.
    @concurrent public func open(
        _ file: SealedFile, expecting: Expectations = Expectations()
    ) async throws(TresorError) -> OpenedFile {
        let (state, keys) = try await admit(file.header, expecting)
        var opened = try FileOpener.openFile(file, with: keys, in: state)
        opened.proof = try judge(opened.proof, in: state, expecting)
        return opened
    }

    /// The log to judge a file by and the keys to open it with (SPEC §10.5, steps 3 to 6).
    @concurrent func admit(
        _ header: FileHeader, _ expecting: Expectations
    ) async throws(TresorError) -> (state: LogState, keys: EpochKeys) {
        let state = try await state(for: header, expecting)
        guard state.members[identity.user] != nil else { throw .noAccess }
        try state.check(header, isNewest: !expecting.acceptingForked)
        try checkFounder(of: header, in: state, expecting)
        return (state, try await session.keyRing.keys(of: header.epoch, in: state))
    }

    /// Whether the authors are whom this home knows, and the file the one that was asked for (SPEC §10.5, steps 14a to 16).
    ///
    /// - Returns: the proof, with what this home knows of the authors.
    func judge(
        _ proof: FileProof, in state: LogState, _ expecting: Expectations
    ) throws(TresorError) -> FileProof {
        var authors = AuthorChecks(client, acceptingUnverified: expecting.acceptingUnverified)
        return try judge(proof, in: state, expecting, &authors)
    }

    /// The same for one of several files.
    func judge(
        _ proof: FileProof, in state: LogState, _ expecting: Expectations, _ authors: inout AuthorChecks
    ) throws(TresorError) -> FileProof {
        for author in [proof.sealer, proof.author] { try authors.check(author, in: state) }
        let proof = try proof.compared { (user) throws(TresorError) in try authors.comparedChain(of: user) }
        guard expecting.areMet(by: proof) else { throw .altered }
        let isCurrent = proof.author.status == .current
        guard !expecting.currentAuthor || isCurrent else { throw .noAccess }
        return proof
    }

    private func state(for header: FileHeader, _ expecting: Expectations) async throws(TresorError) -> LogState {
        if expecting.acceptingForked {
            // Whatever the store shows of the log now is not looked at.
            guard let known = try client.archive.verifiedState(of: header.tresor) else { throw .forked }
            return known
        }
        do throws(TresorError) {
            return try await client.logs.state(
                of: header.tresor, remembering: expecting.acceptingUnverified ? .no : .yes)
        } catch {
            throw error == .notFound ? .noAccess : error
        }
    }

    /// Seals a file again under the current key of its tresor. The first author, their signature and standing stay with it (SPEC §10.7).
    ///
    /// - Parameters:
    ///   - file: the file to reseal.
    ///   - expecting: the expectations of the caller.
    ///   - acceptingNewcomers: whether to reseal although members *from now* could open the file afterwards, and cannot
    ///     open it at present (``LogState/newcomers(after:)``).
    /// - Returns: `nil` for a file that is sealed under the current key already.
    /// - Throws: what opening and sealing throw; ``TresorError/usage`` where there are such members and they are not accepted.
    @concurrent public func reseal(
        _ file: SealedFile, expecting: Expectations = Expectations(), acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> SealedFile? {
        let opened = try await open(file, expecting: expecting)
        let state = try await writableState(of: opened.tresor)
        guard opened.epoch != state.epoch else { return nil }
        try checkNewcomers(after: opened.epoch, in: state, accepting: acceptingNewcomers)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        return try FileSealer.sealFile(
            opened.content, type: opened.type, record: opened.record, origin: opened.authorship, keys: keys,
            state: state,
            author: identity, time: client.clock())
    }

    /// Under which epoch ``reseal(_:expecting:acceptingNewcomers:)`` would seal a file again; `nil` for one that is current. Writes nothing.
    ///
    /// - Throws: what opening and sealing throw, and what newcomers would stop.
    @concurrent public func resealingEpoch(
        of file: SealedFile, expecting: Expectations = Expectations(), acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> UInt64? {
        let opened = try await open(file, expecting: expecting)
        return try await resealingEpoch(of: opened.proof, acceptingNewcomers: acceptingNewcomers)
    }

    func resealingEpoch(of proof: FileProof, acceptingNewcomers: Bool) async throws(TresorError) -> UInt64? {
        let state = try await client.logs.state(of: proof.tresor)
        try checkMayWrite(in: state)
        guard state.isRekeyPending || proof.epoch != state.epoch else { return nil }
        try checkNewcomers(after: proof.epoch, in: state, accepting: acceptingNewcomers)
        guard state.isRekeyPending else { return state.epoch }
        guard let effect = try session.tresors.effect(of: .rotate, in: state).epoch else { throw .noAccess }
        return effect
    }

    /// Whether everybody who could open a file of `epoch` sealed again now can open it as it is (SPEC §10.7 step 2).
    func checkNewcomers(
        after epoch: UInt64, in state: LogState, accepting: Bool
    ) throws(TresorError) {
        guard accepting || state.newcomers(after: epoch).isEmpty else { throw .usage }
    }

    /// What the pinned generation of the owner signed still opens; what a newer one signed waits for another comparison.
    private func checkFounder(
        of header: FileHeader, in state: LogState, _ expecting: Expectations
    ) throws(TresorError) {
        switch try client.trust.founderTrust(in: state) {
        case .me, .verified: break
        case .unverified where expecting.acceptingUnverified: break
        case .unverified where try client.trust.isKnownFromBefore(state): break
        case .renewed(let pinned):
            let generation = state.generation(of: state.founder, at: header.head.sequence)
            guard expecting.acceptingUnverified || (generation ?? .max) <= pinned.newest.generation else {
                throw .unverified
            }
        case .unverified, .changed: throw .unverified
        }
    }

    /// Why a file is ``TresorError/forked``, if its author is somebody who may no longer write: the store shows another
    /// history, or they made the head up.
    ///
    /// - Returns: `nil` for every other file.
    @concurrent public func formerAuthor(of file: SealedFile) async -> FormerAuthor? {
        guard let (state, keys) = try? await admit(file.header, Expectations()), !state.contains(file.header.head),
            let author = try? FileOpener.author(of: file, with: keys, in: state),
            case .former(let former) = state.authorStatus(
                of: author.user, generation: author.generation, since: file.header.head.sequence)
        else { return nil }
        return FormerAuthor(handle: author.handle, former: former)
    }
}

extension LogState {
    /// Whether a file with this header can be judged by this state (SPEC §10.5, step 4).
    ///
    /// - Parameter isNewest: whether this is what the store shows; else it is what the home knew before.
    /// - Throws: ``TresorError/store(_:)`` for a file of a later entry than the store shows; ``TresorError/altered`` where no entry that may follow
    ///   makes the header true; ``TresorError/forked`` for a later entry than the home knew; ``TresorError/noAccess`` for a later epoch.
    package func check(_ header: FileHeader, isNewest: Bool) throws(TresorError) {
        guard header.head.sequence > head.sequence else {
            guard header.epoch <= epoch else { throw .noAccess }
            return
        }
        guard header.epoch >= epoch else { throw .altered }
        throw isNewest ? .store(.behind) : .forked
    }
}
