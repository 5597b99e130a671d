// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TresorCore
public import TresorCrypto

/// One tresor of a session: its files and its members.
///
/// It opens files of this tresor only. A handle costs nothing; make one with `Session.tresor(_:)`.
public struct TresorHandle: Hashable, Identifiable, Sendable {
    /// The id of the tresor.
    public let id: TresorID
    let session: Session

    /// Whether both are the same tresor of the same person.
    public static func == (left: TresorHandle, right: TresorHandle) -> Bool {
        left.id == right.id && left.session.user == right.session.user
    }

    /// Feeds what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(session.user)
    }
}

/// The files of a tresor.
extension TresorHandle {
    /// Seals a content for all members, under the current key.
    ///
    /// - Parameters:
    ///   - content: the bytes to seal, unchanged: an array, `Data`, or a string's `utf8`.
    ///   - record: the record name, under which a program finds the file; may be empty.
    ///   - type: the content type, such as `application/json`; may be empty.
    /// - Throws: ``TresorError/noAccess`` unless this person is an owner or a writer; ``TresorError/unverified`` when
    ///   the founder of the tresor is not verified; ``TresorError/usage(_:)`` for names that
    ///   nobody can have.
    @concurrent public func seal(
        _ content: some Collection<UInt8> & Sendable, record: String = "", type: String = ""
    ) async throws(TresorError) -> SealedFile {
        try await session.files.seal(Array(content), record: Name(text: record), type: Name(text: type), in: id)
    }

    /// Seals contents for all members, on all cores and at one state of the log.
    ///
    /// - Parameters:
    ///   - contents: the contents with their names.
    ///   - progress: takes the number of files that are sealed, of all.
    /// - Returns: the sealed files, in the order of the contents.
    /// - Throws: the errors of ``seal(_:record:type:)``.
    @concurrent public func seal(
        _ contents: [NamedContent], progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> [SealedFile] {
        try await session.files.seal(contents, in: id, progress: progress)
    }

    /// Opens a sealed file of this tresor after every check (SPEC §10.5).
    ///
    /// - Parameters:
    ///   - file: the sealed file.
    ///   - record: the record name under which it was sealed; `nil` for any. Name it where you know it: a store can
    ///     hand out one file of a tresor in the place of another.
    ///   - author: the person who wrote the content; `nil` for any member who may write.
    /// - Throws: ``TresorError/altered`` for a file of another tresor, record or author, and for a changed one;
    ///   ``TresorError/noAccess`` when this person is not a member, or has no key of that time;
    ///   ``TresorError/unverified`` when the founder's or the author's safety number was never compared;
    ///   ``TresorError/forked`` when the file was sealed in another history of the tresor than the store shows.
    @concurrent public func open(
        _ file: SealedFile, record: String? = nil, author: UserID? = nil
    ) async throws(TresorError) -> OpenedFile {
        try check(file.tresor)
        return try await session.files.open(file, expecting: expecting(record: record, author: author))
    }

    /// Opens sealed files of this tresor on all cores, each with its own expectations.
    ///
    /// - Parameters:
    ///   - files: the files, with what the caller knows of each.
    ///   - progress: takes the number of files that are opened, of all.
    /// - Returns: for each file its content, or the error that withholds it: ``TresorError/altered`` for a file of
    ///   another tresor; ``TresorError/cancelled`` for all in a task that was cancelled.
    @concurrent public func open(
        _ files: [ExpectedFile], progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async -> [Result<OpenedFile, TresorError>] {
        // A file of another tresor is refused before its log is read.
        let mine = files.indices.filter { files[$0].file.tresor == id }
        let expected = mine.map { index in
            var expectations = files[index].expectations
            expectations.tresor = id
            return ExpectedFile(files[index].file, expecting: expectations)
        }
        var results = [Result<OpenedFile, TresorError>](repeating: .failure(.altered), count: files.count)
        for (index, result) in zip(mine, await session.files.open(expected, progress: progress)) {
            results[index] = result
        }
        return results
    }

    /// Refuses a file of another tresor before its log is read.
    private func check(_ tresor: TresorID) throws(TresorError) {
        guard tresor == id else { throw .altered }
    }

    /// Returns the expectations that a file of this tresor meets, for streams and batches.
    ///
    /// - Throws: ``TresorError/altered`` for a record name that no file can have.
    package func expecting(
        record: String? = nil, author: UserID? = nil
    ) throws(TresorError) -> Expectations {
        guard let record else { return Expectations(tresor: id, author: author) }
        guard let name = try? Name(text: record) else { throw .altered }
        return Expectations(tresor: id, record: name, author: author)
    }

    /// Seals a file of this tresor again under the current key (SPEC §10.7).
    ///
    /// - Parameters:
    ///   - file: the sealed file.
    ///   - record: the record name under which it was sealed; `nil` for any.
    ///   - acceptingNewcomers: whether to continue although members who were admitted from now on could open the file
    ///     afterwards, and cannot now.
    /// - Returns: `nil` for a file that is already sealed under the current key.
    /// - Throws: the errors of opening and sealing; ``TresorError/usage(_:)`` with `newcomers` where there are such
    ///   members and they are not accepted.
    @concurrent public func reseal(
        _ file: SealedFile, record: String? = nil, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> SealedFile? {
        try check(file.tresor)
        return try await session.files.reseal(
            file, expecting: expecting(record: record), acceptingNewcomers: acceptingNewcomers)
    }
}

/// The large files of a tresor, in constant memory: a few chunks of 256 KiB, and 32 bytes for each 64 KiB of content.
///
/// Sources and sinks are used apart from the caller, one call after the other.
extension TresorHandle {
    /// Seals a content of any length while it is read.
    ///
    /// - Parameters:
    ///   - content: the source; its length may be unknown.
    ///   - sink: takes the sealed file. After an error its bytes are no sealed file and do not open.
    ///   - record: the record name; may be empty.
    ///   - type: the content type; may be empty.
    ///   - progress: takes the number of bytes that were read.
    /// - Throws: the errors of ``seal(_:record:type:)``, of the source and of the sink; ``TresorError/usage(_:)`` when
    ///   the file would be larger than 2^40 bytes.
    @concurrent public func seal(
        _ content: inout some ContentSource, to sink: inout some ByteSink, record: String = "", type: String = "",
        progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) {
        _ = try await session.files.seal(
            &content, to: &sink, record: Name(text: record), type: Name(text: type), in: id, progress: progress)
    }

    /// Verifies a whole sealed file of this tresor, and releases nothing of it before.
    ///
    /// Afterwards ``VerifiedFile/read(_:)`` gives any range of it, and ``VerifiedContent`` gives all of it.
    ///
    /// - Parameters:
    ///   - source: the sealed file.
    ///   - record: the record name under which it was sealed; `nil` for any.
    ///   - author: the person who wrote the content; `nil` for any member who may write.
    ///   - progress: takes the number of bytes of the content that were read, of those of the file.
    /// - Throws: the errors of ``open(_:record:author:)`` and of the source.
    @concurrent public func verify(
        _ source: some SealedSource, record: String? = nil, author: UserID? = nil,
        progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> VerifiedFile {
        let file = try await StoredFile(source)
        try check(file.header.tresor)
        return try await session.files.verify(
            file, expecting: expecting(record: record, author: author), progress: progress)
    }

    /// Seals a file of this tresor again under the current key. It is first verified as a whole, then read again.
    ///
    /// - Parameters:
    ///   - source: the sealed file.
    ///   - sink: takes the new sealed file; nothing is written to it for a file that is current.
    ///   - record: the record name under which it was sealed; `nil` for any.
    ///   - acceptingNewcomers: whether to continue although members who were admitted from now on could open the file
    ///     afterwards.
    ///   - progress: takes the number of bytes that were read, of twice those of the file: it is read two times.
    /// - Returns: whether the file was sealed again; `false` for one that is current.
    /// - Throws: the errors of ``reseal(_:record:acceptingNewcomers:)``, of the source and of the sink.
    @concurrent public func reseal(
        _ source: some SealedSource, to sink: inout some ByteSink, record: String? = nil,
        acceptingNewcomers: Bool = false, progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> Bool {
        let file = try await StoredFile(source)
        try check(file.header.tresor)
        return try await session.files.reseal(
            file, to: &sink, expecting: expecting(record: record),
            acceptingNewcomers: acceptingNewcomers, progress: progress) != nil
    }
}

/// The members of a tresor.
extension TresorHandle {
    /// Shares this tresor with a person whose safety number was compared, or changes a member's role or end.
    ///
    /// - Parameters:
    ///   - person: the person, as ``Client/verify(_:number:replacing:)`` returns them.
    ///   - role: the rights of the person.
    ///   - history: the files that the person can read. It cannot change later.
    ///   - end: the end of access; `nil` for none.
    /// - Returns: the effect.
    /// - Throws: the errors of ``plan(_:)`` and ``PlannedAct/perform()``.
    @concurrent @discardableResult public func share(
        with person: Person, as role: Role = .reader, history: SharedHistory = .all, until end: Date? = nil
    ) async throws(TresorError) -> Effect {
        try await perform(.share(with: [person], as: role, history: history, until: end))
    }

    /// Removes a member and changes the key. Files sealed afterwards are closed to them; what they could read, they may
    /// have kept.
    ///
    /// - Returns: the effect.
    /// - Throws: the errors of ``plan(_:)`` and ``PlannedAct/perform()``.
    @concurrent @discardableResult public func revoke(_ person: Person) async throws(TresorError) -> Effect {
        try await perform(.revoke([person]))
    }

    /// Deletes the tresor for everybody: its log, wrapped keys and records. Nothing brings it back.
    ///
    /// Files sealed for it open nowhere but where somebody still has its log and keys. Of a tresor that the store no
    /// longer has, this home forgets what it has.
    ///
    /// - Throws: ``TresorError/noAccess`` unless this person made the tresor, or is an owner of one that its founder is
    ///   no longer in; ``TresorError/notFound``; ``TresorError/store(_:)`` when the store goes on showing it.
    @concurrent public func delete() async throws(TresorError) {
        let deletion = Deletion(session: session)
        try await deletion.perform(try await deletion.plan(id))
    }

    /// Performs an act at once, without showing its effect first.
    ///
    /// - Returns: the effect.
    /// - Throws: the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``.
    @concurrent @discardableResult package func perform(_ act: Act) async throws(TresorError) -> Effect {
        try await session.tresors.perform(act, on: id).effect
    }

    /// Computes the effect of an act, to be shown before it is performed. Changes nothing, except what decides the effect:
    /// an owner first adds the newer card of a founder, and before a share ends expired grants. An owner's
    /// ``PlannedAct/perform()`` ends and adds the others.
    ///
    /// - Throws: ``TresorError/noAccess`` unless this person may do it; ``TresorError/unverified`` for a person or a
    ///   founder whose safety number was never compared; ``TresorError/usage(_:)`` with the reason for an act that the
    ///   log does not allow; ``TresorError/store(_:)`` when the store cannot be read.
    @concurrent public func plan(_ act: Act) async throws(TresorError) -> PlannedAct {
        let tresors = session.tresors
        var isShare = false
        if case .share(let people, _, _, _) = act.kind {
            try tresors.checkPeople(people, acceptingUnverified: false)
            isShare = true
        }
        var due = act == .leave ? Due(try await state()) : try await tresors.due(in: id)
        if isShare && !due.ended.isEmpty || due.renewed.contains(due.state.founder) {
            due = Due(try await tresors.settle(id))
        }
        return PlannedAct(act: act, effect: try await tresors.effect(of: act, in: due.state), due: due, tresor: self)
    }

    /// Reads the members and this home's trust in them, by rising user id.
    ///
    /// - Throws: the errors of ``log()``.
    @concurrent public func members() async throws(TresorError) -> [Participant] {
        let state = try await state()
        var participants: [Participant] = []
        for (user, member) in state.members.sorted(by: { $0.key < $1.key }) {
            guard let chain = state.chain(of: user) else { throw .altered }
            let trust = try await session.client.trust.memberTrust(of: user, in: state)
            participants.append(Participant(person: Person(chain: chain, trust: trust), member: member))
        }
        return participants
    }
}

/// The log of a tresor.
extension TresorHandle {
    /// Reads the name, which members can read and the store cannot.
    ///
    /// - Throws: the errors of ``log()``; ``TresorError/noAccess`` for somebody who is not a member.
    @concurrent public func name() async throws(TresorError) -> Name {
        try await session.tresors.name(in: state())
    }

    /// Reads the entries of the log, oldest first, all verified.
    ///
    /// - Throws: ``TresorError/notFound`` when the store has no such log; ``TresorError/altered`` for one that breaks a
    ///   rule; ``TresorError/forked`` for another history than this home has verified; ``TresorError/store(_:)``.
    @concurrent public func log() async throws(TresorError) -> [LogRecord] {
        try await session.client.logs.records(of: id).records
    }

    /// Says that this person made the tresor, although its log still has their old keys, and remembers it.
    ///
    /// A home that was recovered does not know which of the tresors that name this person are theirs: the thief of an
    /// old key could have made one. Until this person confirms a tresor, its calls throw ``TresorError/unverified``.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a tresor of another person; ``TresorError/forked`` for
    ///   one that has newer or other keys of this person; the errors of ``log()``.
    @concurrent public func confirmMine() async throws(TresorError) {
        try await session.tresors.confirmMine(state())
    }

    /// Lets this session change the tresor although this device's clock is far from the dates of its log. No access ends
    /// then by a date.
    ///
    /// Ask the person first whether the clock is right. Without this, the calls of an owner throw
    /// ``TresorError/failed(_:)`` with `clock`.
    @concurrent public func acceptClock() async { await session.tresors.acceptClock(in: id) }

    /// Reads and verifies the log, and returns its state.
    ///
    /// - Throws: the errors of ``LogReader/state(of:remembering:)``.
    @concurrent package func state() async throws(TresorError) -> LogState {
        try await session.client.logs.state(of: id)
    }
}

/// A member of a tresor: the person, and the rights that the log gives them.
public struct Participant: Hashable, Identifiable, Sendable {
    /// The person, by the chain in the log, with this home's trust in them.
    public let person: Person
    /// The rights, by the log.
    package let member: Member

    /// The user id.
    public var id: UserID { person.user }

    /// The role.
    public var role: Role { member.role }

    /// The files that they can read.
    public var history: SharedHistory { member.history == .all ? .all : .fromNow }

    /// The planned end of access; `nil` for none.
    public var end: Date? { member.notAfter.map { Date(wholeSeconds: $0) } }
}
