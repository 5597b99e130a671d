// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The paths of the home's two directories and the store.
struct Paths: Sendable, Equatable {
    /// Identity, pins, heads, evidence, logs and by default the store.
    let data: String
    /// The directory of the device share; apart, so that a backup of the data does not include it.
    let state: String
    /// The value of `--store` or `TRESOR_STORE`.
    let givenStore: String?
    /// The values of `--store-ca` and `--store-proxy`.
    let givenCertificates: String?
    let givenProxy: String?

    /// - Throws: 64 when there is no place at all, or a directory of XDG is relative.
    init(options: GlobalOptions, environment: Environment) throws(CommandFailure) {
        guard options.home != "", options.store != "" else { throw .usage("--home and --store need a path") }
        givenStore = options.store ?? environment.store
        givenCertificates = options.storeCa
        givenProxy = options.storeProxy
        if let home = options.home ?? environment.home {
            data = home
            state = Self.join(home, "state")
        } else {
            data = try Self.directory("XDG_DATA_HOME", environment.dataHome, ".local/share", environment)
            state = try Self.directory("XDG_STATE_HOME", environment.stateHome, ".local/state", environment)
        }
    }

    /// The file in which keygen notes a store that is not the default.
    var storeNote: String { Self.join(data, "store") }

    var defaultStore: String { Self.join(data, "store.db") }

    /// The store to use: the given one, else the noted one, else the one in the home. A path, or the address of a service.
    ///
    /// - Throws: 1 for a note that others could have written, or that is no absolute path; the errors of ``service()``.
    func store() throws(CommandFailure) -> String {
        if let service = try service() { return service.address.description }
        if let givenStore { return givenStore }
        return try ownStore()
    }

    /// The store of a command to which none is given.
    ///
    /// - Throws: the errors of ``store()`` for the note.
    func ownStore() throws(CommandFailure) -> String {
        if let service = try notedService() { return service.address.description }
        return try notedStore() ?? defaultStore
    }

    /// The options that name the store in use to a command in another home, where nothing notes it.
    func storeOptions() throws(CommandFailure) -> [String] {
        guard let service = try service() else { return ["--store", Self.absolute(try store())] }
        return ["--store", service.address.description] + (service.certificates.map { ["--store-ca", $0] } ?? [])
            + (service.proxy.map { ["--store-proxy", $0.text] } ?? [])
    }

    /// The options that lead from the store in use to another one, with the authority that this run was given: a clinic has
    /// one for all. The home knows the way to the service that it notes.
    func options(to path: String) -> String {
        let option = "--store \(Shell.path(path))"
        guard let other = try? ServiceAddress(path), other.isSecure, (try? notedService())?.address != other,
            let authority = givenCertificates
        else { return option }
        return "\(option) --store-ca \(Shell.path(Self.absolute(authority)))"
    }

    /// The directory of the home in which the store is a file; `nil` for any other store.
    func directoryOfStore() throws(CommandFailure) -> String? {
        guard try service() == nil else { return nil }
        let store = try store()
        return [data, state].first { FileIdentity.isInside(store, directory: $0) }
    }

    /// Whether the store is a file that is lost together with the home.
    var isStoreOnThisDisk: Bool {
        guard let store = try? store(), !ServiceAddress.isMeant(by: store) else { return false }
        return FileIdentity.isOnSameDevice(store, data)
    }

    /// The service to use; `nil` if the store is a file. A service that the home notes is reached as it notes.
    ///
    /// - Throws: 64 for an address of another form, and for options of a service beside a file.
    func service() throws(CommandFailure) -> ServiceLocation? {
        if let givenStore { try Self.checkIsPath(givenStore) }
        var noted: ServiceLocation?
        if givenStore == nil || ServiceAddress.isMeant(by: givenStore ?? "") { noted = try notedService() }
        guard let text = givenStore ?? noted?.address.description, ServiceAddress.isMeant(by: text) else {
            guard givenCertificates == nil, givenProxy == nil else {
                throw .usage(
                    "--store-ca and --store-proxy go with the address of a service",
                    hints: ["tresor … {--store} --store https://HOST"])
            }
            return nil
        }
        var service = try ServiceLocation(
            text, certificates: givenCertificates.map { Self.absolute($0) }, proxy: givenProxy)
        if let noted, noted.address == service.address {
            service.certificates = service.certificates ?? noted.certificates
            service.proxy = service.proxy ?? noted.proxy
        }
        return service
    }

    /// Refuses a mistyped address, which would otherwise name a new file.
    ///
    /// - Throws: 64 for blanks around it, and for what ``StorePath/isMeant(by:)`` says is no path.
    private static func checkIsPath(_ text: String) throws(CommandFailure) {
        guard let first = text.utf8.first, let last = text.utf8.last, !isBlank(first), !isBlank(last) else {
            throw .usage("\(DisplayText.quoted(text)) has blanks around it", hints: ["tresor … {--store} --store FILE"])
        }
        guard !ServiceAddress.isMeant(by: text), !StorePath.isMeant(by: text) else { return }
        let address = (try? ServiceAddress("https://" + text)).map { $0.description } ?? "https://HOST:PORT"
        // Only a name without folders becomes a path in this way.
        let path = text.contains("/") ? [] : ["tresor … {--store} --store \(Shell.path("./" + text))"]
        throw .usage(
            "\(DisplayText.quoted(text)) looks like the address of a service, which begins with https://",
            hints: ["tresor … {--store} --store \(Shell.path(address))"] + path)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    /// The service that the home notes; `nil` if it notes a file or nothing.
    func notedService() throws(CommandFailure) -> ServiceLocation? {
        guard let note = try notedStore(), ServiceAddress.isMeant(by: note) else { return nil }
        return ServiceLocation(note: note)
    }

    /// Notes the store in the home, which must exist, so that later commands find it: the absolute path of a file, or
    /// the address of a service.
    func noteStore() throws(CommandFailure) {
        let file = OutputFile(path: storeNote, access: .owner) { _ in nil }
        let note = if let service = try service() { service.note } else { Self.absolute(try store()) + "\n" }
        try file.write(Array(note.utf8).span)
        try file.commit()
    }

    /// Notes in another home the store that this one uses by itself: the noted one, or that in the home.
    func noteOwnStore(in directory: String) throws(CommandFailure) {
        guard let note = try notedStore() ?? (FileIdentity(path: defaultStore) == nil ? nil : defaultStore) else {
            return
        }
        let file = OutputFile(path: Self.join(directory, "store"), access: .owner) { _ in nil }
        let line = Array(((ServiceAddress.isMeant(by: note) ? note : Self.absolute(note)) + "\n").utf8)
        try file.write(line.span)
        try file.commit()
    }

    /// The tresors with changes that this home may not have sent. That needs no identity.
    func unsentTresors() -> [TresorID] {
        (try? DirectoryHome(data: data, state: state).outboxes().keys.sorted()) ?? []
    }

    /// Takes the note of the store back. Another file of its name stays.
    func forgetStore() { if (try? notedStore()) != nil { _ = unlink(storeNote) } }

    /// The note: an absolute path, or the lines of a service.
    private func notedStore() throws(CommandFailure) -> String? {
        let file: SecretFile
        do throws(CommandFailure) {
            file = try SecretFile(path: storeNote)
        } catch {
            if error.error == .notFound { return nil }
            throw error
        }
        var bytes = try file.publicBytes(limit: 2 * Int(PATH_MAX))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        let text = String(validating: bytes, as: UTF8.self)
        guard let path = text, Self.isAbsolute(path) || ServiceLocation(note: path) != nil, !bytes.contains(0) else {
            throw CommandFailure(
                .failed(.damaged), "\(DisplayText.quoted(storeNote)) does not name a store",
                hints: ["tresor … {--store} --store FILE"],
                file: storeNote)
        }
        return path
    }

    /// Refuses a relative directory, which would change with the working directory. Falling back to the default would
    /// be a silent surprise.
    static func directory(
        _ variable: String, _ base: String?, _ fallback: String, _ environment: Environment
    ) throws(CommandFailure) -> String {
        if let base {
            guard isAbsolute(base) else {
                throw .usage(
                    "\(variable) is not an absolute path", hints: ["unset \(variable)", "tresor … {--home} --home DIR"])
            }
            return join(base, "tresor")
        }
        guard let home = environment.userHome, isAbsolute(home) else {
            throw .usage("there is no home directory", hints: ["tresor … {--home} --home DIR"])
        }
        return join(join(home, fallback), "tresor")
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory.utf8.last == UInt8(ascii: "/") ? directory + name : "\(directory)/\(name)"
    }

    /// The files and directories in which a home keeps the data of its identity. The device share is apart.
    static let objectNames = [
        "identity", "pins", "heads", "stores", "services", "logins", "names", "wraps", "cleanup", "marks",
    ]
    static let objectDirectories = ["logs", "evidence", "records"]

    /// By the byte, as the system sees it: to Swift a slash and a combining mark are one other character.
    private static func isAbsolute(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "/") }

    /// The path from the root, without resolving links.
    static func absolute(_ path: String) -> String {
        guard !isAbsolute(path) else { return path }
        guard let working = getcwd(nil, 0) else { return path }
        defer { free(working) }
        guard let directory = String(validatingCString: working) else { return path }
        return join(directory, path)
    }
}
