// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// However long a log is, no more of it is held than the state and a page.
@Suite(.longRun) struct LogMemoryTests {
    private static let count: UInt64 = 80_000

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")),
        .disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
    func A73_readingALongLogHoldsTheStateAndAPage() async {
        await #expect(processExitsWith: .success) {
            let place = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: place) }
            let world = World()
            let anna = try await world.quick("anna")
            let store = try await LogFile.write(LogMemoryTests.count, by: anna, at: place.appendingPathComponent("log"))
            let home = DirectoryHome(data: place.path + "/home", state: place.path + "/home")
            try home.replace(.identity, with: try #require(anna.home[.identity]))
            let before = try LogMemoryTests.peak()
            // From the store, from the local log copy, from the snapshot.
            for identity in [anna.identity, nil, anna.identity] {
                var client = Client(home: home, store: store, clock: { 1_777_730_400 })
                if let identity { client = Session(client: client, identity: identity).client }
                #expect(try await client.logs.state(of: store.tresor).entryCount == LogMemoryTests.count)
            }
            let grown = try LogMemoryTests.peak() - before
            print("the log has \(store.byteCount) bytes; the peak rose by \(grown)")
            #expect(grown < store.byteCount / 2)
        }
    }

    /// The most memory that this process ever had, in bytes.
    private static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) * 1024
    }
}

/// A store whose one log lies in a file, so that reading it takes no memory of this process.
private struct LogFile: Store, BloblessStore {
    let tresor: TresorID
    let byteCount: Int
    private let genesis: [UInt8]
    private let path: URL
    private let entryByteCount: Int

    /// Names, one after another: every entry but the first has one size.
    static func write(_ count: UInt64, by anna: Session, at path: URL) async throws -> LogFile {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let genesis = try #require(try await log(tresor, in: anna.client.store).first)
        _ = FileManager.default.createFile(atPath: path.path, contents: nil)
        let file = try FileHandle(forWritingTo: path)
        var (previous, size) = (try Entry(genesis).hash(), 0)
        for sequence in 1..<count {
            let entry = try Entry(
                tresor: tresor, sequence: sequence, previous: previous, author: anna.identity, time: 5,
                body: .rename(RenameBody(try Chronicle.anyName())))
            try file.write(contentsOf: entry.bytes)
            (previous, size) = (try entry.hash(), entry.bytes.count)
        }
        try file.close()
        return LogFile(
            tresor: tresor, byteCount: size * Int(count), genesis: genesis, path: path, entryByteCount: size)
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        do {
            let file = try FileHandle(forReadingFrom: path)
            defer { try? file.close() }
            let before = first == 0 ? [genesis] : []
            try file.seek(toOffset: first == 0 ? 0 : (first - 1) * UInt64(entryByteCount))
            let bytes = [UInt8](try file.read(upToCount: (limit - before.count) * entryByteCount) ?? Data())
            return before
                + stride(from: 0, to: bytes.count, by: entryByteCount).map { Array(bytes[$0..<$0 + entryByteCount]) }
        } catch {
            throw .store(.other)
        }
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome { .conflict }
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome { .conflict }
    func card(of user: UserID) async throws(TresorError) -> [UInt8]? { nil }
    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] { [] }
    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] { [] }
    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] { [] }
    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {}
    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] { [] }
    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {}
    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {}
    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? { nil }
    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {}
    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {}
    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? { nil }
    func deleteKitCopy(locator: Hash256) async throws(TresorError) {}
}
