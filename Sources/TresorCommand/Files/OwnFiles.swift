// SPDX-License-Identifier: Apache-2.0

import TresorStore

/// The files of a home and its store, and those that hold the password: looked at once, to judge many paths.
struct OwnFiles: Sendable {
    private let data: FileIdentity?
    /// The directories whose files are all the home's.
    private let directories: Set<FileIdentity>
    private let files: Set<FileIdentity>
    private let store: Set<FileIdentity>
    private let passwords: Set<FileIdentity>

    private static let names = Paths.objectNames + ["store", "lock", "slots.lock"]

    init(_ places: Paths, passwords: [String]) {
        func files(_ paths: [String]) -> Set<FileIdentity> { Set(paths.compactMap { FileIdentity(path: $0) }) }
        data = FileIdentity(path: places.data)
        directories = files([places.state] + Paths.objectDirectories.map { Paths.join(places.data, $0) })
        self.files = files(Self.names.map { Paths.join(places.data, $0) })
        let store = (try? places.store()) ?? places.defaultStore
        self.store = files(["", "-wal", "-shm"].map { store + $0 })
        self.passwords = files(passwords)
    }

    /// Whether a path is a file of the home or the store, under any name, and whether or not it exists yet.
    func contains(_ path: String) -> Bool {
        let parts = AtomicFile.split(path)
        let above = AtomicFile.split(parts.directory)
        if IdentityBackup.isName(above.name), FileIdentity(path: above.directory) == data { return true }
        if let directory = FileIdentity(path: parts.directory) {
            let isNamed = Self.names.contains(parts.name) || IdentityBackup.isName(parts.name)
            if isNamed && data == directory || directories.contains(directory) { return true }
        }
        return FileIdentity(path: path).map { contains($0) } ?? false
    }

    /// Whether an open file is one of the home or the store, by whatever path it was opened.
    func contains(_ file: FileIdentity) -> Bool { store.contains(file) || files.contains(file) }

    /// Whether an open file holds the password.
    func isPassword(_ file: FileIdentity) -> Bool { passwords.contains(file) }

    /// Whether a path leads to the store or one of the files beside it.
    func isStore(_ path: String) -> Bool { FileIdentity(path: path).map { store.contains($0) } ?? false }

    /// Whether a path leads to a file that holds the password.
    func isPassword(_ path: String) -> Bool { FileIdentity(path: path).map { isPassword($0) } ?? false }
}
