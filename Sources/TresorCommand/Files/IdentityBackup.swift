// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Everything an identity keeps in a home, moved aside so that another identity begins with an empty home. It is
/// restored if no identity is made or the program is interrupted.
final class IdentityBackup: Sendable {
    /// Where it is moved to: `identity.SECONDS` in the home, a directory that can be used as a home itself.
    let path: String
    private let places: Paths
    private let token = Mutex<Interrupts.Token?>(nil)

    /// Finds the files to move. Moves nothing yet.
    ///
    /// - Returns: `nil` for a home that is empty.
    init?(in places: Paths) {
        self.places = places
        var seconds = time(nil)
        while Self.isTaken("\(Paths.join(places.data, "identity")).\(seconds)") { seconds += 1 }
        path = "\(Paths.join(places.data, "identity")).\(seconds)"
        guard moves.contains(where: { Self.isTaken($0.from) }) else { return nil }
    }

    var hasIdentity: Bool { Self.isTaken(identity.from) }

    private typealias Move = (from: String, to: String)

    private var identity: Move { (Paths.join(places.data, "identity"), Paths.join(path, "identity")) }

    /// The device share stays on its disk, apart from the rest unless the home keeps everything under one directory.
    private var stateDirectory: String {
        if places.state == Paths.join(places.data, "state") { return Paths.join(path, "state") }
        return Paths.join(places.state, AtomicFile.split(path).name)
    }

    /// The moves, the identity first. If the program is killed after that, the next identity moves the rest aside too.
    private var moves: [Move] {
        let others = (Paths.objectNames.filter { $0 != "identity" } + Paths.objectDirectories).map { name in
            (Paths.join(places.data, name), Paths.join(path, name))
        }
        let share = "device-share"
        return [identity] + others + [(Paths.join(places.state, share), Paths.join(stateDirectory, share))]
    }

    /// Moves all of it, while nobody else writes to the home.
    ///
    /// - Parameters:
    ///   - includingIdentity: whether an identity may be moved; otherwise one that has just appeared is refused.
    ///   - home: the home, whose locks keep others away.
    ///   - wait: how to wait for another change of the key slots.
    /// - Returns: `false` for such an identity; then nothing is moved.
    func move(
        includingIdentity: Bool, in home: any Home, after wait: SlotWait
    ) async throws(CommandFailure) -> Bool {
        token.withLock { $0 = Interrupts.onInterrupt { [weak self] in self?.putBack() } }
        var failure: CommandFailure?
        var isRefused = false
        do throws(TresorError) {
            let lock = try await wait.lock(home)
            try home.exclusively { () throws(TresorError) in
                isRefused = !includingIdentity && hasIdentity
                if !isRefused { failure = moveAll() }
            }
            _ = consume lock
        } catch {
            stays()
            throw CommandFailure(error)
        }
        if isRefused { stays() }
        guard let failure else { return !isRefused }
        putBack()
        throw failure
    }

    private func moveAll() -> CommandFailure? {
        for directory in [path, stateDirectory] {
            guard mkdir(directory, 0o700) != 0 else { continue }
            // Without a device share there is no directory to keep one in.
            guard directory == stateDirectory, errno == ENOENT || errno == EEXIST else {
                return .cannotWrite(directory, .current)
            }
        }
        for move in moves where rename(move.from, move.to) != 0 && errno != ENOENT {
            return .cannotWrite(move.to, .current)
        }
        rmdir(stateDirectory)
        // The note of the store stays for the new identity. Without one there, --store names the store.
        try? places.noteOwnStore(in: path)
        return nil
    }

    /// Another identity has taken its place.
    func stays() {
        if let token = token.withLock({ $0 }) { Interrupts.cancel(token) }
    }

    /// Restores everything, the identity last. Restores nothing if a new identity exists, which must not find the files
    /// of another.
    func putBack() {
        stays()
        guard !Self.isTaken(identity.from) else { return }
        for move in moves.reversed() where !Self.isTaken(move.from) { rename(move.to, move.from) }
        unlink(Paths.join(path, "store"))
        rmdir(stateDirectory)
        rmdir(path)
    }

    private static func isTaken(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The paths in a home to which identities and device shares were moved, here or by hand: `identity.SECONDS`,
    /// `identity.old`.
    static func paths(in places: Paths) -> [String] {
        [places.data, places.state].flatMap { directory in
            let moved = ((try? names(in: directory)) ?? []).filter { $0.utf8.starts(with: "identity.".utf8) }
            return moved.sorted().map { Paths.join(directory, $0) }
        }
    }

    private static func names(in directory: String) throws(TresorError) -> [String] {
        guard let opened = try FileDescriptor.privateDirectory(directory, creating: false) else { return [] }
        return try SystemError.asFailed { () throws(SystemError) in try opened.names() }
    }

    /// Whether a directory has the name of one to which an identity was moved.
    static func isName(_ name: String) -> Bool {
        let prefix = "identity."
        let digits = name.utf8.dropFirst(prefix.utf8.count)
        return name.utf8.starts(with: prefix.utf8) && !digits.isEmpty
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
