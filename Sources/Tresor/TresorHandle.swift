// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// One tresor of a session: its files and its members.
///
/// Whatever is opened through it must be of this tresor. A handle costs nothing; make one with ``Session/tresor(_:)``.
public struct TresorHandle: Identifiable, Sendable {
    /// The id of the tresor.
    public let id: TresorID
    let session: Session
}

/// The files of a tresor.
extension TresorHandle {
    /// Seals a content for all members, under the current key.
    ///
    /// - Parameters:
    ///   - content: the bytes to seal, unchanged: an array, `Data`, or a string's `utf8`.
    ///   - record: the record name, under which a program finds the file; may be empty.
    ///   - type: the content type, such as `application/json`; may be empty.
    /// - Throws: the errors of ``Files/seal(_:record:type:in:)``; ``TresorError/usage(_:)`` with `nameCharacters` or
    ///   `nameTooLong`.
    @concurrent public func seal(
        _ content: some Collection<UInt8> & Sendable, record: String = "", type: String = ""
    ) async throws(TresorError) -> SealedFile {
        try await session.files.seal(Array(content), record: Name(text: record), type: Name(text: type), in: id)
    }

    /// Seals contents for all members, on all cores and at one state of the log.
    ///
    /// - Returns: the sealed files, in the order of the contents.
    /// - Throws: the errors of ``Files/seal(_:in:)``.
    @concurrent public func seal(_ contents: [NamedContent]) async throws(TresorError) -> [SealedFile] {
        try await session.files.seal(contents, in: id)
    }

    /// Opens a sealed file of this tresor after every check (SPEC §10.5).
    ///
    /// - Parameters:
    ///   - file: the sealed file.
    ///   - record: the record name under which it was sealed; `nil` for any. Name it where you know it: a store can
    ///     hand out one file of a tresor in the place of another.
    ///   - author: the person who wrote the content; `nil` for any member who may write.
    /// - Throws: ``TresorError/altered`` for a file of another tresor, record or author; otherwise the errors of
    ///   ``Files/open(_:expecting:)``.
    @concurrent public func open(
        _ file: SealedFile, record: String? = nil, author: UserID? = nil
    ) async throws(TresorError) -> OpenedFile {
        try await session.files.open(file, expecting: expecting(record: record, author: author))
    }

    /// Opens sealed files of this tresor on all cores, each with its own expectations.
    ///
    /// - Returns: for each file its content, or the error that withholds it: ``TresorError/altered`` for a file of
    ///   another tresor, whatever its expectations say of the tresor.
    @concurrent public func open(_ files: [ExpectedFile]) async -> [Result<OpenedFile, TresorError>] {
        let expected = files.map { file in
            var expectations = file.expectations
            expectations.tresor = id
            return ExpectedFile(file.file, expecting: expectations)
        }
        return await session.files.open(expected)
    }

    /// Returns the expectations that a file of this tresor meets, for streams and batches.
    ///
    /// - Throws: ``TresorError/altered`` for a record name that no file can have.
    public func expecting(
        record: String? = nil, author: UserID? = nil
    ) throws(TresorError) -> Expectations {
        guard let record else { return Expectations(tresor: id, author: author) }
        guard let name = try? Name(text: record) else { throw .altered }
        return Expectations(tresor: id, record: name, author: author)
    }

    /// Seals a file of this tresor again under the current key (SPEC §10.7).
    ///
    /// - Returns: `nil` for a file that is already sealed under the current key.
    /// - Throws: the errors of ``Files/reseal(_:expecting:acceptingNewcomers:)``.
    @concurrent public func reseal(
        _ file: SealedFile, record: String? = nil, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> SealedFile? {
        try await session.files.reseal(
            file, expecting: expecting(record: record), acceptingNewcomers: acceptingNewcomers)
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
    /// - Throws: the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``; ``TresorError/unverified`` for
    ///   a person whose safety number was never compared.
    @concurrent @discardableResult public func share(
        with person: Person, as role: Role = .reader, history: SharedHistory = .all, until end: Date? = nil
    ) async throws(TresorError) -> Effect {
        try await perform(.share(with: [person], as: role, history: history, until: end))
    }

    /// Removes a member and changes the key. Files sealed afterwards are closed to them; what they could read, they may
    /// have kept.
    ///
    /// - Returns: the effect.
    /// - Throws: the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``.
    @concurrent @discardableResult public func revoke(_ person: Person) async throws(TresorError) -> Effect {
        try await perform(.revoke([.user(person.user)]))
    }

    /// Performs an act at once, without showing its effect first.
    ///
    /// - Returns: the effect.
    /// - Throws: the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``.
    @concurrent @discardableResult public func perform(_ act: Act) async throws(TresorError) -> Effect {
        try await session.tresors.perform(act, on: id).effect
    }

    /// Computes the effect of an act, to be shown before it is performed. Changes nothing, except that an owner first
    /// ends expired grants.
    ///
    /// - Throws: the errors of ``Tresors/effect(of:in:)`` and ``Tresors/settle(_:)``; ``TresorError/unverified`` for
    ///   sharing with a person whose safety number was never compared.
    @concurrent public func plan(_ act: Act) async throws(TresorError) -> PlannedAct {
        if case .share(let people, _, _, _) = act {
            try session.tresors.checkPeople(people.map(\.chain), acceptingUnverified: false)
        }
        let state = act == .leave ? try await state() : try await session.tresors.settle(id)
        return PlannedAct(act: act, effect: try await session.tresors.effect(of: act, in: state), tresor: self)
    }

    /// Reads the members and this home's trust in them, by rising user id.
    ///
    /// - Throws: the errors of ``state()`` and ``LogTrust/memberTrust(of:in:)``.
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
    /// - Throws: the errors of ``Tresors/name(in:)``.
    @concurrent public func name() async throws(TresorError) -> Name {
        try await session.tresors.name(in: state())
    }

    /// Reads the entries of the log, oldest first, all verified.
    ///
    /// - Throws: the errors of ``LogReader/records(of:)``.
    @concurrent public func log() async throws(TresorError) -> [LogRecord] {
        try await session.client.logs.records(of: id).records
    }

    /// Reads and verifies the log, and returns its state.
    ///
    /// - Throws: the errors of ``LogReader/state(of:remembering:)``.
    @concurrent public func state() async throws(TresorError) -> LogState {
        try await session.client.logs.state(of: id)
    }
}

/// A member of a tresor: the person, and the rights that the log gives them.
public struct Participant: Hashable, Identifiable, Sendable {
    /// The person, by the chain in the log, with this home's trust in them.
    public let person: Person
    /// The rights, by the log.
    public let member: Member

    /// The user id.
    public var id: UserID { person.user }
}
