// SPDX-License-Identifier: Apache-2.0

/// The promises of `Store` (SPEC §11), each with its check.
///
/// A store of your own passes all of them before people keep anything in it. With Swift Testing:
///
/// ```swift
/// @Test(arguments: StoreClaim.all) func theStoreKeepsItsPromise(_ claim: StoreClaim) async throws {
///     let folder = try Folder()
///     try await claim.check(at: StorePlace(bytes: { try folder.files() }) { try DirectoryStore(at: folder.path) })
/// }
/// ```
///
/// With XCTest, call ``findings(atEach:)`` and fail for each finding.
public struct StoreClaim: Hashable, Sendable, CustomStringConvertible {
    /// All promises.
    public static let all = Promise.allCases.map { StoreClaim($0) }

    package let promise: Promise

    package init(_ promise: Promise) { self.promise = promise }

    /// The promise in words, for example "a new store is empty".
    package var name: String { promise.rawValue }

    /// The name.
    public var description: String { name }

    /// Checks one promise at a fresh place.
    ///
    /// - Throws: the first thing that the store did against the promise, an unexpected error included. A promise that
    ///   could not be checked is a finding too: that deleted secrets are gone, at a place that gives no bytes.
    public func check(at place: StorePlace) async throws(StoreFinding) {
        do {
            try await promise.check(at: place)
        } catch let broken as BrokenPromise {
            throw StoreFinding(claim: self, sentence: broken.sentence)
        } catch {
            throw StoreFinding(claim: self, sentence: "a call that should succeed throws \(error)")
        }
    }

    /// Checks all promises, each at a place of its own.
    ///
    /// - Parameter place: makes a fresh place.
    /// - Returns: one finding for each promise that is not kept, or could not be checked.
    public static func findings(atEach place: () async throws -> StorePlace) async -> [StoreFinding] {
        var findings: [StoreFinding] = []
        for claim in all {
            do {
                try await claim.check(at: try await place())
            } catch let finding as StoreFinding {
                findings.append(finding)
            } catch {
                findings.append(StoreFinding(claim: claim, sentence: "the place cannot be made: \(error)"))
            }
        }
        return findings
    }
}
