// SPDX-License-Identifier: Apache-2.0

/// A small content to be sealed with others.
public struct NamedContent: Hashable, Sendable {
    /// The bytes to seal, unchanged.
    public let content: [UInt8]
    /// The record name; may be empty.
    public let record: Name
    /// The content type.
    public let type: Name

    /// Makes a content with its names.
    public init(_ content: [UInt8], record: Name = .empty, type: Name) {
        self.content = content
        self.record = record
        self.type = type
    }
}

/// Many small files at once, on all cores: the log is read once, and the keys of an epoch are unlocked once.
extension Files {
    private static let grain = 16

    /// Seals contents for all members of a tresor, as ``seal(_:record:type:in:)`` does, all at one state of the log.
    ///
    /// - Returns: the sealed files, in the order of the contents.
    /// - Throws: the errors of ``seal(_:record:type:in:)``.
    @concurrent public func seal(_ contents: [NamedContent], in tresor: TresorID) async throws(TresorError)
        -> [SealedFile]
    {
        let state = try await writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        let time = client.clock()
        let author = identity
        return try Cores.map(contents.count, grain: Self.grain) { (range) throws(TresorError) in
            var files: [SealedFile] = []
            for content in contents[range] {
                files.append(
                    try FileSealer.sealFile(
                        content.content, type: content.type, record: content.record, keys: keys, state: state,
                        author: author, time: time))
            }
            return files
        }
    }

    /// Opens sealed files after every check, as ``open(_:expecting:)`` does. The log of each tresor is read once.
    ///
    /// - Parameters:
    ///   - files: the files, of any tresors.
    ///   - expecting: the expectations of each file.
    /// - Returns: for each file its content, or the error that withholds it.
    @concurrent public func open(
        _ files: [SealedFile], expecting: Expectations = Expectations()
    ) async -> [Result<OpenedFile, TresorError>] {
        var admissions: [Admitted: Result<Admission, TresorError>] = [:]
        var results: [Result<OpenedFile, TresorError>] = []
        for file in files {
            let place = Admitted(header: file.header)
            if admissions[place] == nil { admissions[place] = await admission(file.header, expecting) }
        }
        let known = admissions
        do throws(TresorError) {
            results = try Cores.map(files.count, grain: Self.grain) { range in
                files[range].map { file in
                    Result { () throws(TresorError) in
                        guard let admission = try known[Admitted(header: file.header)]?.get() else { throw .noAccess }
                        return try FileOpener.openFile(file, with: admission.keys, in: admission.state)
                    }
                }
            }
        } catch {
            results = files.map { _ in .failure(error) }
        }
        var authors = AuthorChecks(client, acceptingUnverified: expecting.acceptingUnverified)
        return results.indices.map { index in
            Result { () throws(TresorError) in
                var opened = try results[index].get()
                guard let admission = try known[Admitted(header: files[index].header)]?.get() else { throw .noAccess }
                opened.proof = try judge(opened.proof, in: admission.state, expecting, &authors)
                return opened
            }
        }
    }

    /// The fields of a header on which the checks before opening depend. Files that agree in them share one admission.
    private struct Admitted: Hashable {
        let tresor: TresorID
        let epoch: UInt64
        let sequence: UInt64

        init(header: FileHeader) {
            tresor = header.tresor
            epoch = header.epoch
            sequence = header.head.sequence
        }
    }

    private struct Admission: Sendable {
        let state: LogState
        let keys: EpochKeys
    }

    private func admission(_ header: FileHeader, _ expecting: Expectations) async -> Result<Admission, TresorError> {
        do throws(TresorError) {
            let (state, keys) = try await admit(header, expecting)
            return .success(Admission(state: state, keys: keys))
        } catch {
            return .failure(error)
        }
    }
}
