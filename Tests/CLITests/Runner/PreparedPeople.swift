// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// People as keygen makes them. The program makes each once for a store; a script whose store has the same bytes gets a
/// copy of the home and of the store behind it.
enum PreparedPeople {
    private struct Person {
        let home: URL
        /// The store behind the keygen, by the ending of the file's name.
        let store: [String: Data]
        let ending: ChildProcess.Result
    }

    private struct Place: Hashable {
        let name: String
        let store: [String: Data]
    }

    private static let made = Mutex<[Place: Person]>([:])
    private static let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
        "tresor-people-\(UUID())")
    private static let removed: Void = {
        atexit { try? FileManager.default.removeItem(at: PreparedPeople.directory) }
    }()

    /// Gives a home its person and the store the person's card.
    ///
    /// - Parameters:
    ///   - isOrdinary: whether keygen would do what it does for everybody.
    ///   - make: runs keygen.
    static func person(
        _ name: String, at home: URL, store: URL, isOrdinary: Bool, make: () throws -> ChildProcess.Result
    ) throws -> ChildProcess.Result {
        let files = FileManager.default
        guard isOrdinary, !files.fileExists(atPath: home.path) else { return try make() }
        let place = Place(name: name, store: contents(of: store))
        if let person = made.withLock({ $0[place] }) {
            try files.copyItem(at: person.home, to: home)
            for ending in ["", "-wal", "-shm"] { try? files.removeItem(at: file(of: store, ending)) }
            for (ending, data) in person.store { try data.write(to: file(of: store, ending)) }
            return person.ending
        }
        let ending = try make()
        guard ending.code == 0 else { return ending }
        _ = removed
        let copy = directory.appendingPathComponent("\(name)-\(UUID())")
        try files.createDirectory(at: directory, withIntermediateDirectories: true)
        try files.copyItem(at: home, to: copy)
        made.withLock { $0[place] = $0[place] ?? Person(home: copy, store: contents(of: store), ending: ending) }
        return ending
    }

    private static func file(of store: URL, _ ending: String) -> URL { URL(fileURLWithPath: store.path + ending) }

    private static func contents(of store: URL) -> [String: Data] {
        ["", "-wal"].reduce(into: [:]) { $0[$1] = try? Data(contentsOf: file(of: store, $1)) }
    }
}
