// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
package import TresorCore
package import TresorCrypto

extension DirectoryHome {
    /// A directory or file of a home that is accessible to others or owned by another user.
    package struct Exposure: Hashable, Sendable {
        /// The fault.
        package enum Flaw: Hashable, Sendable {
            /// Others can change it, or read a secret.
            case open
            /// Others can read private data, but no secret.
            case readable
            /// Another user owns it, or it is a link or a device.
            case foreign
        }

        /// The path.
        package let path: String
        /// The fault.
        package let flaw: Flaw
        /// The mode it should have: 0700 or 0600.
        package let mode: UInt16
    }

    /// Checks the modes of everything in the home. Changes nothing and follows no link.
    ///
    /// - Throws: `TresorError.failed(_:)` if a directory cannot be read.
    package func exposures() throws(TresorError) -> [Exposure] {
        let secrets = HomeObject.secrets.map(path(of:))
        var found: [Exposure] = []
        for directory in paths {
            guard let status = try Self.status(of: directory) else { continue }
            found += Self.exposure(of: directory, status, isDirectory: true, isSecret: false)
            // That of another user is named, and need not open.
            guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else { continue }
            // A former store under another name is no file of the home either.
            for name in try Self.names(in: directory) where !name.hasSuffix(".db") {
                let path = "\(directory)/\(name)"
                guard let status = try Self.status(of: path), status.st_mode & S_IFMT != S_IFDIR else { continue }
                let original = CloudCopy.original(of: name) { secrets.contains("\(directory)/\($0)") }
                found += Self.exposure(
                    of: path, status, isDirectory: false,
                    isSecret: secrets.contains(path) || HomeObject.isSecret(named: name) || original != nil)
            }
        }
        return found
    }

    /// The copies of the home's files that a program has put beside them which keeps a folder the same on several machines.
    /// No call of a home reads them, and no erasure deletes them.
    ///
    /// - Throws: `TresorError.failed(_:)` if a directory cannot be read.
    package func cloudCopies() throws(TresorError) -> [CloudCopy] {
        let single = Set(
            [HomeObject.identity, .names, .marks, .pins, .heads, .notedStores, .knownServices, .knownLogins, .wraps]
                .map(\.name) + [
                    HomeObject.cleanupJournal.name, HomeObject.deviceShare.name, "lock", "slots.lock", "store",
                ])
        var found: [CloudCopy] = []
        for directory in paths {
            guard let status = try Self.status(of: directory), status.st_mode & S_IFMT == S_IFDIR,
                status.st_uid == geteuid()
            else { continue }
            let folder = directory.hasPrefix("\(data)/") ? String(directory.dropFirst(data.count + 1)) : ""
            found += CloudCopy.all(in: directory, of: try Self.names(in: directory)) { name in
                single.contains(name) || HomeObject(named: "\(folder)/\(name)") != nil
            }
        }
        return found
    }

    /// The paths of all directories, present or not.
    private var paths: [String] { [data, state, data + "/logs", data + "/evidence", data + "/records"] }

    /// The path of an object, present or not.
    package func path(of object: HomeObject) -> String {
        "\(object.staysOnDevice ? state : data)/\(object.name)"
    }

    /// A directory or file that a call opens, present or not.
    package struct Place: Hashable, Sendable {
        /// The path.
        package let path: String
        /// The rights that the home refuses to see given to others.
        package let forbidden: UInt16
        /// Whether it is a part of the home, and not the directory that is named as the home.
        package let isInside: Bool
    }

    /// The places that a call for an object opens: directories and its file. With the locks, all directories and locks.
    package func places(of object: HomeObject?) -> [Place] {
        var places = [(data, false), (state, true)].map { Place(path: $0.0, forbidden: 0o022, isInside: $0.1) }
        if let object {
            let path = path(of: object)
            places.append(Place(path: AtomicFile.split(path).directory, forbidden: 0o022, isInside: true))
            places.append(Place(path: path, forbidden: object.isSecret ? 0o077 : 0o022, isInside: true))
        } else {
            places += [("logs", 0o022), ("evidence", 0o022), ("records", 0o022), ("lock", 0), ("slots.lock", 0)].map {
                Place(path: "\(data)/\($0.0)", forbidden: $0.1, isInside: true)
            }
        }
        return places
    }

    /// The names of the home's own files. A store file in the home keeps the mode that its owner gave it.
    private static func names(in directory: String) throws(TresorError) -> [String] {
        let names = try SystemError.asFailed { () throws(SystemError) in
            try FileDescriptor(directory, O_RDONLY | O_DIRECTORY).names()
        }
        return names.filter { !$0.hasPrefix("store.db") && $0 != "." && $0 != ".." }.sorted()
    }

    private static func status(of path: String) throws(TresorError) -> stat? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let error = SystemError.current
            guard error.number == ENOENT else { throw .failed(error.fault) }
            return nil
        }
        return status
    }

    private static func exposure(
        of path: String, _ status: stat, isDirectory: Bool, isSecret: Bool
    ) -> [Exposure] {
        let mode: UInt16 = isDirectory ? 0o700 : 0o600
        let others = status.st_mode & 0o077
        guard status.st_uid == geteuid(), status.st_mode & S_IFMT == (isDirectory ? S_IFDIR : S_IFREG) else {
            return [Exposure(path: path, flaw: .foreign, mode: mode)]
        }
        guard others != 0 else { return [] }
        return [Exposure(path: path, flaw: isSecret || others & 0o022 != 0 ? .open : .readable, mode: mode)]
    }
}
