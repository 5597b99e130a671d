// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct PasswdCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "passwd", group: .you, abstract: "Change the password.",
            usage: "tresor passwd [--revoke-devices] [--argon2id MIB,PASSES]",
            discussion: """
                Asks for the old password, even on a trusted device. Trusted devices and the kit stay valid; \
                --revoke-devices removes the devices. A log-in by password at the service gets the new password first; \
                another home of yours gets it with tresor login. If the password leaked and the identity file was stolen, \
                run tresor rotate --identity.
                """,
            classes: [.identity], further: [.busy, .forked, .unverified, .store(.other)],
            examples: ["tresor passwd", "tresor passwd --password-file OLD --new-password-file NEW"])
    }

    @Flag(help: "Remove all trusted devices too.")
    var revokeDevices = false

    @Option(help: ArgumentHelp("The cost of one password guess; as before if omitted.", valueName: "MIB,PASSES"))
    var argon2id: Argon2idArgument?

    @OptionGroup var new: NewPasswordOptions
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let given = try argon2id?.cost()
        let local = try CommandContext.local(options)
        // One that does not read is named before any log-in of its person is looked for.
        _ = try local.identityFile()
        let isLoginKnown = try ServiceLogin.isKnown(in: local.invocation.places, orElsewhere: true)
        let context =
            isLoginKnown || revokeDevices
            ? try await CommandContext.open(options, acceptingDevice: !isLoginKnown) : local
        let session = try await context.unlock(to: "change the password", acceptingDevice: false)
        let file = try context.identityFile()
        let handle = file.chain.handle
        let typed = try context.invocation.passwords.new(
            for: handle.text, from: new, isFirst: false, made: KeygenCommand.makePassword)
        let password = try PasswordSource.prepared(typed)
        let cost = given ?? file.passwordCost ?? .standard
        let isNew = await OtherServices(context).isNew(password, for: context.client)
        // The service comes first: a command that is killed behind it is run again with the old password.
        Interrupts.begin()
        defer { Interrupts.end() }
        let login = isLoginKnown ? try await ServiceLogin(session, context)?.ifKnown() : nil
        let isSetThere = try await login?.change(to: password, of: handle) ?? false
        do {
            if revokeDevices {
                try await session.unlocking.changePasswordEndingDevices(to: password, cost: cost)
            } else {
                try await session.unlocking.changePassword(to: password, cost: cost)
            }
        } catch {
            var failure = CommandFailure(error)
            if error == .failed(.memory) { failure = MemoryNeed.failure(for: cost, isNew: true) }
            guard isSetThere else { throw failure }
            throw CommandFailure(
                failure.error,
                failure.message
                    + "; the service has the new password already, and this home the old one: run the command "
                    + "again, with both", hints: failure.hints, file: failure.file)
        }
        let too = isSetThere ? login.map { ", also for a log-in at \($0.place)" } ?? "" : ""
        context.output.say("the password of \(DisplayText.name(handle.bytes)) is changed\(too)")
        if revokeDevices { context.output.say("trusted devices no longer open anything") }
        let others = OtherServices(context)
        if isNew { others.tell(.password) }
        context.output.say(
            "if the old one leaked and the identity file was stolen: \(HintCompletion.command("rotate --identity"))")
        guard options.json else { return }
        var object: JSONObject = [
            "type": "identity", "handle": .text(handle.bytes), "user": .string(file.chain.user.description),
            "changed": "password",
        ]
        object["behind"] = isNew ? others.json(.password) : nil
        try context.output.object(object)
    }
}
