// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A small content to be sealed with others.
public struct NamedContent: Hashable, Sendable {
    /// The bytes to seal, unchanged.
    package let content: [UInt8]
    /// The record name; may be empty.
    package let record: Name
    /// The content type.
    package let type: Name

    /// Makes a content with its names.
    package init(_ content: [UInt8], record: Name = .empty, type: Name) {
        self.content = content
        self.record = record
        self.type = type
    }
}

/// Many small files at once, on all cores: the log is read once, and the keys of an epoch are unlocked once.
///
/// A batch leaves the threads that serve all tasks free, so that other calls do not wait for it.
extension Files {
    private static let grain = 16

    /// Seals contents for all members of a tresor, as ``seal(_:record:type:in:)`` does, all at one state of the log.
    ///
    /// - Parameter progress: takes the number of files that are sealed, of all.
    /// - Returns: the sealed files, in the order of the contents.
    /// - Throws: the errors of ``seal(_:record:type:in:)``; ``TresorError/cancelled`` for a task that was cancelled.
    @concurrent package func seal(
        _ contents: [NamedContent], in tresor: TresorID, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> [SealedFile] {
        for content in contents { try content.type.checkIsOfContents() }
        let state = try await writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        let time = client.clock()
        let author = identity
        let report = Self.counting(contents.count, progress)
        return try await Cores.mapApart(contents.count, grain: Self.grain, progress: report) {
            (range) throws(TresorError) in
            var files: [SealedFile] = []
            for content in contents[range] {
                try author.checkUnlocked()
                files.append(
                    try FileSealer.sealFile(
                        content.content, type: content.type, record: content.record, keys: keys, state: state,
                        author: author, time: time))
            }
            return files
        }
    }

    /// Opens sealed files after every check, as ``open(_:expecting:)`` does, each with its own expectations. The log of
    /// each tresor is read once.
    ///
    /// - Parameters:
    ///   - files: the files, of any tresors, with the expectations of each.
    ///   - progress: takes the number of files that are opened, of all.
    /// - Returns: for each file its content, or the error that withholds it: ``TresorError/cancelled`` for all in a
    ///   task that was cancelled.
    @concurrent package func open(
        _ files: [ExpectedFile], progress: WorkDone.Report? = nil
    ) async -> [Result<OpenedFile, TresorError>] {
        var admissions: [Admitted: Result<Admission, TresorError>] = [:]
        var results: [Result<OpenedFile, TresorError>] = []
        for file in files {
            let place = Admitted(file)
            if admissions[place] == nil { admissions[place] = await admission(file.file.header, file.expectations) }
        }
        let known = admissions
        let reader = identity
        do throws(TresorError) {
            let report = Self.counting(files.count, progress)
            results = try await Cores.mapApart(files.count, grain: Self.grain, progress: report) { range in
                files[range].map { file in
                    Result { () throws(TresorError) in
                        guard let admission = try known[Admitted(file)]?.get() else { throw .noAccess }
                        try reader.checkUnlocked()
                        return try FileOpener.openFile(file.file, with: admission.keys, in: admission.state)
                    }
                }
            }
        } catch {
            results = files.map { _ in .failure(error) }
        }
        var authors: [Bool: AuthorChecks] = [:]
        return results.indices.map { index in
            Result { () throws(TresorError) in
                var opened = try results[index].get()
                let expecting = files[index].expectations
                guard let admission = try known[Admitted(files[index])]?.get() else { throw .noAccess }
                let accepting = expecting.acceptingUnverified
                opened.proof = try judge(
                    opened.proof, in: admission.state, expecting,
                    &authors[accepting, default: AuthorChecks(client, acceptingUnverified: accepting)])
                return opened
            }
        }
    }

    /// Turns numbers of files into reports.
    private static func counting(_ total: Int, _ progress: WorkDone.Report?) -> (@Sendable (Int) -> Void)? {
        guard let progress else { return nil }
        return { progress(WorkDone(UInt64($0), of: UInt64(total))) }
    }

    /// The fields of a header, and the expectations, on which the checks before opening depend. Files that agree in
    /// them share one admission.
    private struct Admitted: Hashable {
        let tresor: TresorID
        let epoch: UInt64
        let sequence: UInt64
        let acceptingForked: Bool
        let acceptingUnverified: Bool

        init(_ file: ExpectedFile) {
            tresor = file.file.header.tresor
            epoch = file.file.header.epoch
            sequence = file.file.header.head.sequence
            acceptingForked = file.expectations.acceptingForked
            acceptingUnverified = file.expectations.acceptingUnverified
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
