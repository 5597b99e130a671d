// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// Uses the model as an app's screens would. Ends with an error where it does not do what it says.
@main struct Main {
    struct Broken: Error {
        let line: Int
    }

    static func check(_ isRight: Bool, line: Int = #line) throws {
        guard isRight else { throw Broken(line: line) }
    }

    @MainActor static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let files = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trap = Trap()
        let store = FaultyStore { _ in
            await trap.step()
            return nil
        }
        let home = folder.appending(path: "anna")
        let house = try await Client(at: folder.appending(path: "dr-house"), store: store)
            .makeIdentity("dr-house", password: Password("it is never lupus"))
        let anna = try await Client(at: home, store: store)
            .makeIdentity("anna", password: Password("correct horse battery"))
        anna.lock()
        _ = try await house.client.verify("anna", number: anna.chain.number().grouped)

        let model = CareModel(folder: home, files: files, store: store)
        await model.start()
        guard case .locked = model.phase else { throw Broken(line: #line) }
        await model.logIn("wrong horse battery", remember: false)
        try check(model.error == .wrongPassword)
        await model.logIn("correct horse battery", remember: true)
        try check(model.error == nil)

        let event = Event(pain: 3, note: "slept well")
        try await model.add(event, named: "monday")
        try await model.add(Event(pain: 5, note: "too many stairs"), named: "tuesday")
        try await model.share(with: "dr-house", number: house.chain.number().grouped) { effect in
            effect.admitted == [house.user]
        }
        try await model.load()
        try check(model.events["monday"] == .success(event))

        // Somebody puts one genuine file in the place of another.
        let (monday, tuesday) = (files.appending(path: "monday"), files.appending(path: "tuesday"))
        try Data(contentsOf: tuesday).write(to: monday)
        try await model.load()
        try check(model.events["monday"] == .failure(.altered))

        model.lock()
        try check(model.events.isEmpty)
        try await checkLockedLoads(model, trap)
        await model.start()
        guard case .open = model.phase else { throw Broken(line: #line) }
        let seen = try await house.tresor("anna/assessments")
        let opened = try await seen.open(SealedFile(Data(contentsOf: tuesday)), record: "tuesday")
        print(opened.author.handle.text, opened.type.text)
    }

    /// Locks the screen at each call that loading makes to the store. The screen stays empty, whatever was loaded.
    @MainActor private static func checkLockedLoads(_ model: CareModel, _ trap: Trap) async throws {
        var lateCount = 0
        for call in 0..<1000 {
            await model.start()
            guard case .open = model.phase else { throw Broken(line: #line) }
            trap.set(after: call) { model.lock() }
            do {
                try await model.load()
                if case .locked = model.phase { lateCount += 1 }
            } catch TresorError.usage(.locked) {}
            guard case .locked = model.phase else {
                // Loading makes no more calls than these. At some of them, the files were being opened already.
                trap.set(after: nil)
                try check(!model.events.isEmpty && lateCount > 0)
                return
            }
            try check(model.events.isEmpty)
        }
        throw Broken(line: #line)
    }
}

/// Acts at one of the calls that a store gets.
@MainActor final class Trap {
    private var left: Int?
    private var action: () -> Void = {}

    /// Acts after so many more calls; `nil` never does.
    func set(after count: Int?, _ action: @escaping () -> Void = {}) { (left, self.action) = (count, action) }

    func step() {
        guard let count = left else { return }
        left = count > 0 ? count - 1 : nil
        if count == 0 { action() }
    }
}
