// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
@testable import Tresor

/// Opening without saying which tresor a file must come from, for tests whose subject is another check.
extension Files {
    func open(_ file: SealedFile) async throws(TresorError) -> OpenedFile {
        try await open(file, expecting: .anyTresor)
    }

    func open(
        _ files: [SealedFile], expecting: Expectations = .anyTresor
    ) async -> [Result<OpenedFile, TresorError>] {
        await open(files.map { ExpectedFile($0, expecting: expecting) })
    }

    func open(_ file: StoredFile<some SealedSource>, to sink: inout some ByteSink) async throws(TresorError)
        -> VerifiedFile
    {
        try await open(file, to: &sink, expecting: .anyTresor)
    }

    func verify(_ file: StoredFile<some SealedSource>) async throws(TresorError) -> VerifiedFile {
        try await verify(file, expecting: .anyTresor)
    }

    func reseal(_ file: SealedFile, acceptingNewcomers: Bool = false) async throws(TresorError) -> SealedFile? {
        try await reseal(file, expecting: .anyTresor, acceptingNewcomers: acceptingNewcomers)
    }

    func reseal(
        _ file: StoredFile<some SealedSource>, to sink: inout some ByteSink, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> SealedStream? {
        try await resealHere(file, to: &sink, expecting: .anyTresor, acceptingNewcomers: acceptingNewcomers)
    }

    func resealingEpoch(
        of file: SealedFile, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> UInt64? {
        try await resealingEpoch(of: file, expecting: .anyTresor, acceptingNewcomers: acceptingNewcomers)
    }

    func resealingEpoch(
        of file: StoredFile<some SealedSource>, acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> UInt64? {
        try await resealingEpoch(of: file, expecting: .anyTresor, acceptingNewcomers: acceptingNewcomers)
    }
}

extension SlotChanges {
    /// A kit whose words nobody saw.
    func makeKit() async throws(TresorError) -> RecoveryKit {
        let kit = try RecoveryKit()
        try await setKit(kit)
        return kit
    }
}
