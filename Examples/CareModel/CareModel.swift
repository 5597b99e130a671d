// SPDX-License-Identifier: Apache-2.0

import Foundation
import Observation
import Tresor
import TresorCore
import TresorCrypto

/// The state of an app's screens: locked or open, the events of a patient, the last error.
///
/// It lives on the main actor and needs no framework for user interfaces. All work of the library happens elsewhere.
@Observable @MainActor final class CareModel {
    enum Phase {
        case locked
        case open(Session)
    }

    private(set) var phase = Phase.locked
    private(set) var events: [String: Result<Event, TresorError>] = [:]
    private(set) var error: TresorError?
    private let client: Client
    private let files: URL

    /// The store keeps no files: this app keeps them in a folder, which a service synchronizes.
    init(folder: URL, files: URL, store: any Store) {
        client = Client(at: folder, store: store)
        self.files = files
    }

    /// Opens the identity without a password, where this device is remembered.
    func start() async {
        do throws(TresorError) {
            phase = .open(try await client.device.unlock())
        } catch {
            if error != .notFound, error != .noAccess { self.error = error }
        }
    }

    func logIn(_ password: String, remember: Bool) async {
        do throws(TresorError) {
            let session = try await client.unlock(password: Password(password))
            if remember { try await session.unlocking.rememberDevice(name: "phone", until: .now + 90 * 86_400) }
            (phase, error) = (.open(session), nil)
        } catch {
            self.error = error
        }
    }

    func lock() {
        if case .open(let session) = phase { session.lock() }
        (phase, events) = (.locked, [:])
    }

    func add(_ event: Event, named name: String) async throws {
        let content = try JSONEncoder().encode(event)
        let sealed = try await assessments().seal(content, record: name, type: "application/json")
        try sealed.data.write(to: files.appending(path: name), options: .atomic)
    }

    /// Opens every file under the name that it was sealed with. One bad file is one bad event.
    func load() async throws {
        guard case .open(let session) = phase else { throw TresorError.usage(.locked) }
        let assessments = try await assessments()
        let names = try FileManager.default.contentsOfDirectory(atPath: files.path(percentEncoded: false)).sorted()
        let sealed = try names.map { name in
            try ExpectedFile(SealedFile(Data(contentsOf: files.appending(path: name))), record: name)
        }
        let results = await assessments.open(sealed)
        // Somebody may have locked the screen by now, and opened it again: it does not show what began before.
        guard !session.isLocked else { return }
        for (name, result) in zip(names, results) {
            events[name] = result.flatMap { opened in
                guard let event = try? JSONDecoder().decode(Event.self, from: opened.data) else {
                    return .failure(.altered)
                }
                return .success(event)
            }
        }
    }

    /// Shares with a doctor who told their safety number. `confirm` shows the effect to the person.
    func share(with doctor: String, number: String, confirm: (Effect) async -> Bool) async throws {
        let doctor = try await client.verify(doctor, number: number)
        let plan = try await assessments().plan(.share(with: [doctor], until: .now + 30 * 86_400))
        if await confirm(plan.effect) { try await plan.perform() }
    }

    /// Loads again whenever a tresor of this person changes. Ends with its task.
    func watch() async {
        guard case .open(let session) = phase else { return }
        for await change in client.changes(of: session.user) {
            if case .storeFailed(let error) = change { self.error = error } else { try? await load() }
        }
    }

    private func assessments() async throws -> TresorHandle {
        guard case .open(let session) = phase else { throw TresorError.usage(.locked) }
        do {
            return try await session.tresor("assessments")
        } catch .notFound {
            return try await session.create("assessments")
        }
    }
}

/// What a patient notes after an exercise.
struct Event: Codable, Equatable {
    var pain: Int
    var note: String
}
