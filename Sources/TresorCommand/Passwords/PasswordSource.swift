// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The sources of passwords; the first present is used: descriptor, file, trusted device, the two variables, the
/// person.
struct PasswordSource: Sendable {
    /// How often something secret may be typed.
    static let tries = 3

    let options: GlobalOptions
    let environment: Environment
    let standardInput: StandardInput
    /// The terminal, unless it may not be opened.
    let terminal: @Sendable () -> Terminal?

    /// Opens something with the password, asking again after a wrong one, up to three times, at a terminal only.
    ///
    /// - Parameters:
    ///   - prompt: names the identity and the reason: `password for anna (to sign a change to interventions): `.
    ///   - device: opens without a password if this device is trusted; tried after the explicit sources.
    ///   - open: throws `TresorError.wrongPassword` for a wrong one.
    func unlock<Opened: ~Copyable>(
        prompt: String, device: () async throws -> Opened? = { nil },
        open: (borrowing SecretBytes) async throws -> Opened
    ) async throws -> Opened {
        if let content = try explicit() { return try await open(content) }
        if let opened = try await device() { return opened }
        if let content = try ambient() { return try await open(content) }
        return try await ask(prompt, open)
    }

    /// A new password: from its own options, for a new identity also from the ordinary sources, else typed twice.
    ///
    /// - Parameters:
    ///   - made: makes a password for a person who types none; without it an empty one is refused.
    func new(
        for name: String, from options: NewPasswordOptions, isFirst: Bool,
        made: ((Terminal) throws(CommandFailure) -> SecretBytes)? = nil
    ) throws(CommandFailure) -> SecretBytes {
        if let content = try given(options, isFirst: isFirst) {
            try Self.checkStrength(content)
            return content
        }
        let terminal = try person("--new-password-file")
        var attempt = 0
        while true {
            attempt += 1
            do {
                return try typeTwice(name, at: terminal, made: made)
            } catch {
                guard error.error == .usage, attempt < Self.tries else { throw error }
                try terminal.show("tresor: \(error.message)\n")
            }
        }
    }

    /// A new password from its own options, for a command that asks other things first; `nil` for one that will be typed.
    func newGiven(from options: NewPasswordOptions) throws(CommandFailure) -> SecretBytes? {
        guard let content = try given(options, isFirst: false) else { return nil }
        try Self.checkStrength(content)
        return content
    }

    /// Opens an unfinished identity with the password it was begun with. Asks as ``unlock(prompt:device:open:)`` does.
    func again<Opened: ~Copyable>(
        prompt: String, from options: NewPasswordOptions, open: (borrowing SecretBytes) async throws -> Opened
    ) async throws -> Opened {
        if let content = try given(options, isFirst: true) { return try await open(content) }
        return try await ask(prompt, open)
    }

    private func given(_ new: NewPasswordOptions, isFirst: Bool) throws(CommandFailure) -> SecretBytes? {
        if let content = try explicit(new.newPasswordFd, new.newPasswordFile, as: "new-password") { return content }
        guard isFirst else { return nil }
        if let content = try explicit() { return content }
        return try ambient()
    }

    private func typeTwice(
        _ name: String, at terminal: Terminal, made: ((Terminal) throws(CommandFailure) -> SecretBytes)?
    ) throws(CommandFailure) -> SecretBytes {
        let empty = made == nil ? "" : " (empty makes one)"
        let first = try terminal.secret("password for \(DisplayText.name(name)), new\(empty): ")
        if first.count == 0, let made { return try made(terminal) }
        let password = try SecretInput.password(first, what: "the password")
        try Self.checkStrength(password)
        let second = try terminal.secret("repeat the password: ")
        let isSame = password.matches(second)
        guard isSame else { throw .usage("the two passwords differ") }
        return password
    }

    /// Counts the prepared password: a letter and its mark are typed as two code points and may become one.
    static func checkStrength(_ password: borrowing SecretBytes) throws(CommandFailure) {
        let prepared = try Self.prepared(password)
        guard prepared.count >= Password.shortestNew else {
            throw .usage("a password has at least \(Password.shortestNew) characters")
        }
    }

    /// A password as it was typed, in the form that opens and makes slots.
    static func prepared(_ typed: borrowing SecretBytes) throws(CommandFailure) -> Password {
        do {
            return try Password(typed: typed)
        } catch {
            throw error == .usage(.passwordCharacters)
                ? .usage("the password has characters that cannot be used in one") : CommandFailure(error)
        }
    }

    private func ask<Opened: ~Copyable>(
        _ prompt: String, _ open: (borrowing SecretBytes) async throws -> Opened
    ) async throws -> Opened {
        let terminal = try person()
        var attempt = 0
        while true {
            attempt += 1
            do {
                let password = try typed(prompt, at: terminal)
                return try await open(password)
            } catch TresorError.wrongPassword where attempt < Self.tries {
                try terminal.show("tresor: wrong password\n")
            } catch let failure as CommandFailure where failure.error == .usage && attempt < Self.tries {
                try terminal.show("tresor: \(failure.message)\n")
            }
        }
    }

    private func typed(_ prompt: String, at terminal: Terminal) throws(CommandFailure) -> SecretBytes {
        try SecretInput.password(try terminal.secret(prompt), what: "the password")
    }

    private func person(_ option: String = "--password-file") throws(CommandFailure) -> Terminal {
        if let terminal = terminal() { return terminal }
        throw .usage("a password is needed and \(absence)", hints: ["tresor … \(option) FILE"])
    }

    /// Why nobody can be asked.
    private var absence: String { options.batch ? "--batch forbids asking" : "there is no terminal" }

    private func explicit() throws(CommandFailure) -> SecretBytes? {
        try explicit(options.passwordFd, options.passwordFile, as: "password")
    }

    private func explicit(
        _ descriptor: Int32?, _ file: String?, as option: String
    ) throws(CommandFailure) -> SecretBytes? {
        guard descriptor == nil || file == nil else {
            throw .usage("--\(option)-fd and --\(option)-file cannot both be given")
        }
        let user = option == "password" ? "the password" : SecretInput.newPassword
        if let descriptor { return try read(descriptor, option: "--\(option)-fd", for: user) }
        if let file { return try read(file, option: "--\(option)", for: user) }
        return nil
    }

    private func ambient() throws(CommandFailure) -> SecretBytes? {
        if let file = environment.passwordFile { return try read(file, option: "--password", for: "the password") }
        guard let command = environment.passwordCommand else { return nil }
        return try SecretInput.password(
            try PasswordCommand(command: command, terminal: terminal(), absence: absence).read(),
            what: "the output of TRESOR_PASSWORD_COMMAND",
            firstLine: #"export TRESOR_PASSWORD_COMMAND="($TRESOR_PASSWORD_COMMAND) | head -n 1""#)
    }

    private func read(_ descriptor: Int32, option: String, for user: String) throws(CommandFailure) -> SecretBytes {
        guard descriptor >= 0, descriptor != 1, descriptor != 2 else {
            throw .usage("\(option) takes 0 or a number above 2")
        }
        try standardInput.claim(descriptor, for: user)
        let what = "descriptor \(descriptor)"
        defer { if StandardInput.isStream(descriptor) { Surroundings.current.turns.end() } }
        return try SecretInput.password(
            try SecretInput.readAll(descriptor, limit: SecretInput.passwordContentLimit, what: what), what: what)
    }

    private func read(_ file: String, option: String, for user: String) throws(CommandFailure) -> SecretBytes {
        guard file != "-" else { return try read(STDIN_FILENO, option: "\(option)-fd", for: user) }
        // Two secrets of one run have different descriptors.
        let number = user == SecretInput.newPassword ? 4 : 3
        let hint = "tresor … {\(option)-file} \(option)-fd \(number) \(number)<\(Shell.path(file))"
        try standardInput.claim(path: file, for: user)
        let secret = try SecretFile(path: file, otherwise: [hint])
        return try SecretInput.password(
            try secret.read(limit: SecretInput.passwordContentLimit), what: DisplayText.quoted(file), path: file,
            option: option)
    }
}
