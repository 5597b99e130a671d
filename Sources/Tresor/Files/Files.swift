// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Seals and opens the files of tresors (SPEC §10).
package struct Files: Sendable {
    let session: Session

    var client: Client { session.client }
    var identity: Identity { session.identity }

    /// Seals a content for all members of a tresor, under its current key. A pending rekey is done first.
    ///
    /// - Parameters:
    ///   - content: the bytes to seal, unchanged.
    ///   - record: the record name; may be empty.
    ///   - type: the content type.
    ///   - tresor: the tresor whose members can open the file.
    /// - Throws: ``TresorError/noAccess`` unless this person is an owner or a writer; ``TresorError/unverified`` when
    ///   the founder of the tresor is not verified.
    @concurrent package func seal(
        _ content: [UInt8], record: Name = .empty, type: Name, in tresor: TresorID
    ) async throws(TresorError) -> SealedFile {
        try type.checkIsOfContents()
        let state = try await writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        try client.operation.step()
        return try FileSealer.sealFile(
            content, type: type, record: record, keys: keys, state: state, author: identity, time: client.clock())
    }

    /// Returns the state for a write, in which this person may write.
    ///
    /// An owner has ended expired grants by then. A pending rekey is done by this person, or by another member who is
    /// faster.
    @concurrent package func writableState(of tresor: TresorID) async throws(TresorError) -> LogState {
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
        if state.waiting[identity.user] != nil { throw .waiting }
        guard let me = state.members[identity.user], me.role != .reader,
            state.chain(of: identity.user)?.newest == identity.chain.newest,
            me.notAfter.map({ client.clock() <= $0 }) ?? true
        else { throw .noAccess }
        guard try client.trust.founderTrust(in: state).isVerified else {
            throw client.trust.founderRefusal(in: state)
        }
    }

    /// Opens a sealed file after every check (SPEC §10.5). With an error, nothing of the content is released.
    ///
    /// - Parameter expecting: the tresor of the file, and more that the caller knows of it; ``Expectations/anyTresor``
    ///   believes any tresor of this person.
    /// - Throws: ``TresorError/noAccess``, ``TresorError/unverified``, ``TresorError/altered``, ``TresorError/forked``.
    @concurrent package func open(
        _ file: SealedFile, expecting: Expectations
    ) async throws(TresorError) -> OpenedFile {
        let (state, keys) = try await admit(file.header, expecting)
        try client.operation.step()
        var opened = try FileOpener.openFile(file, with: keys, in: state)
        opened.proof = try judge(opened.proof, in: state, expecting)
        return opened
    }

    /// Returns the state of the log that judges a file, and the keys that open it (SPEC §10.5, steps 3 to 6).
    @concurrent func admit(
        _ header: FileHeader, _ expecting: Expectations
    ) async throws(TresorError) -> (state: LogState, keys: EpochKeys) {
        let state = try await state(for: header, expecting)
        guard state.members[identity.user] != nil else { throw state.refusal(of: identity.user) }
        try header.check(in: state, isNewest: !expecting.acceptingForked)
        try checkFounder(of: header, in: state, expecting)
        return (state, try await session.keyRing.keys(of: header.epoch, in: state))
    }

    /// Checks that this home accepts the authors, and that the file is the one asked for (SPEC §10.5, steps 14a to 16).
    ///
    /// - Returns: the proof, with this home's knowledge of the authors.
    func judge(
        _ proof: FileProof, in state: LogState, _ expecting: Expectations
    ) throws(TresorError) -> FileProof {
        var authors = AuthorChecks(client, acceptingUnverified: expecting.acceptingUnverified)
        return try judge(proof, in: state, expecting, &authors)
    }

    /// Checks one of several files, which share what is looked up of their authors.
    func judge(
        _ proof: FileProof, in state: LogState, _ expecting: Expectations, _ authors: inout AuthorChecks
    ) throws(TresorError) -> FileProof {
        for author in [proof.sealer, proof.author] { try authors.check(author, in: state) }
        let proof = try proof.compared { (user) throws(TresorError) in try authors.comparedChain(of: user) }
        guard expecting.areMet(by: proof) else { throw .altered }
        try proof.type.checkIsOfContents()
        let isCurrent = proof.author.status == .current
        guard !expecting.currentAuthor || isCurrent else { throw .noAccess }
        return proof
    }

    private func state(for header: FileHeader, _ expecting: Expectations) async throws(TresorError) -> LogState {
        if expecting.acceptingForked {
            // The log that the store shows now is not read.
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

    /// Seals a file again under the current key of its tresor. It keeps its first author, their signature and their
    /// author status (SPEC §10.7).
    ///
    /// - Parameters:
    ///   - file: the file to reseal.
    ///   - expecting: the expectations of the file.
    ///   - acceptingNewcomers: whether to continue although members admitted *from now* could open the file afterwards,
    ///     and cannot now (``LogState/newcomers(after:)``).
    /// - Returns: `nil` for a file that is already sealed under the current key.
    /// - Throws: the errors of opening and sealing; ``TresorError/usage(_:)`` with `newcomers` where there are such
    ///   members and they are not accepted.
    @concurrent package func reseal(
        _ file: SealedFile, expecting: Expectations, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> SealedFile? {
        let opened = try await open(file, expecting: expecting)
        guard let state = try await resealingState(of: opened.proof, acceptingNewcomers: acceptingNewcomers) else {
            return nil
        }
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        return try FileSealer.sealFile(
            opened.content, type: opened.type, record: opened.record, origin: opened.authorship, keys: keys,
            state: state,
            author: identity, time: client.clock())
    }

    /// Returns the epoch under which ``reseal(_:expecting:acceptingNewcomers:)`` would seal a file again; `nil` for a
    /// current one. Writes nothing.
    ///
    /// - Throws: the errors of opening and sealing, and ``TresorError/usage(_:)`` with `newcomers` for newcomers who
    ///   are not accepted.
    @concurrent package func resealingEpoch(
        of file: SealedFile, expecting: Expectations, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> UInt64? {
        let opened = try await open(file, expecting: expecting)
        return try await resealingEpoch(of: opened.proof, acceptingNewcomers: acceptingNewcomers)
    }

    func resealingEpoch(of proof: FileProof, acceptingNewcomers: Bool) async throws(TresorError) -> UInt64? {
        let state = try await client.logs.heldState(of: proof.tresor)
        try checkMayWrite(in: state)
        guard state.isRekeyPending || proof.epoch != state.epoch else { return nil }
        try checkNewcomers(after: proof.epoch, in: state, accepting: acceptingNewcomers)
        guard state.isRekeyPending else { return state.epoch }
        guard let effect = try session.tresors.effectBlocking(of: .rotate, in: state).epoch else { throw .noAccess }
        return effect
    }

    /// Returns the state in which a file is sealed again; `nil` for one that is sealed under the current key. A refusal
    /// comes before a key changes for the file.
    @concurrent func resealingState(
        of proof: FileProof, acceptingNewcomers: Bool
    ) async throws(TresorError) -> LogState? {
        _ = try await resealingEpoch(of: proof, acceptingNewcomers: acceptingNewcomers)
        let state = try await writableState(of: proof.tresor)
        guard proof.epoch != state.epoch else { return nil }
        try checkNewcomers(after: proof.epoch, in: state, accepting: acceptingNewcomers)
        return state
    }

    /// Checks that resealing a file of `epoch` now gives it to no member who cannot open it already (SPEC §10.7 step
    /// 2).
    func checkNewcomers(
        after epoch: UInt64, in state: LogState, accepting: Bool
    ) throws(TresorError) {
        guard accepting || state.newcomers(after: epoch).isEmpty else { throw .usage(.newcomers) }
    }

    /// Checks the founder by this home's pins. Files signed with the pinned generation still open; those of a newer one
    /// wait for another comparison.
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
                throw client.trust.founderRefusal(in: state)
            }
        case .unverified, .changed: throw client.trust.founderRefusal(in: state)
        }
    }

    /// Explains a file that is ``TresorError/forked``, if its author may no longer write. Either the store shows
    /// another history, or the author invented the head.
    ///
    /// - Returns: `nil` for every other file.
    @concurrent package func formerAuthor(of file: SealedFile) async -> FormerAuthor? {
        guard let (state, keys) = try? await admit(file.header, .anyTresor), !state.contains(file.header.head),
            let author = try? FileOpener.author(of: file, with: keys, in: state),
            case .former(let former) = AuthorStatus(
                of: author.user, generation: author.generation, since: file.header.head.sequence, in: state)
        else { return nil }
        return FormerAuthor(handle: author.handle, former: former)
    }
}
