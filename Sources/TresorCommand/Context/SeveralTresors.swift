// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Changes several tresors one after the other. The first failure names its tresor and those already changed.
struct SeveralTresors {
    let count: Int
    private(set) var done: [String] = []

    init(count: Int) { self.count = count }

    /// Makes the change in one tresor.
    ///
    /// - Parameter title: the tresor's name, fit to be shown.
    mutating func change<Result>(_ title: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            done.append(title)
            return result
        } catch {
            throw failure(error, in: title)
        }
    }

    /// Judges one tresor before anything is done in any.
    func judge<Result>(_ title: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw failure(error, in: title)
        }
    }

    private func failure(_ error: any Error, in title: String) -> any Error {
        guard count > 1, !(error is Exit) else { return error }
        let failure = CommandFailure(error)
        let rest = done.isEmpty ? "nothing was changed" : "done in \(done.joined(separator: ", "))"
        return CommandFailure(
            failure.error, "\(title): \(failure.message); \(rest)", hints: failure.hints, file: failure.file)
    }
}
