// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

struct RememberCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "remember", group: .you, abstract: "Let this device in without the password.",
            usage: "tresor remember [--name TEXT] [--days N] [--accept-same-disk]",
            discussion: """
                Half a key is kept here and half in the store; neither opens anything alone. After tresor device revoke the store has none.
                """,
            classes: [.identity, .write], examples: ["tresor remember --name \"ward 3\" --days 7"])
    }

    @Option(help: ArgumentHelp("What the list calls this device; the host's name if left out.", valueName: "TEXT"))
    var name: String?

    @Option(help: ArgumentHelp("For how many days, 1 to 3650; 30 if left out.", valueName: "N"))
    var days: UInt64 = 30

    @Flag(help: "Go on although both halves lie on one disk.")
    var acceptSameDisk = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard (1...3650).contains(days) else { throw CommandFailure.usage("--days takes 1 to 3650") }
        let deviceName = try deviceName()
        let workplace = try await CommandContext.open(options)
        try checkDisk(workplace)
        let session = try await workplace.unlock(to: "remember this device", acceptingDevice: false)
        let until = workplace.now + days * Timestamp.secondsPerDay
        let device = try await Interrupts.atomically {
            try await session.unlocking.rememberDevice(name: deviceName, until: until)
        }
        let last = Timestamp(seconds: device.until)
        workplace.output.say(
            "this device, \(DisplayText.quoted(device.name.bytes)) (\(device.id.description.prefix(10))), opens the identity until \(last.date)"
        )
        guard options.json else { return }
        try workplace.output.object(DeviceCommand.object(device, isThis: true))
    }

    private func deviceName() throws -> Name {
        if let name { return try CommandContext.name(name, of: "a device's name") }
        var host = utsname()
        guard uname(&host) == 0 else { return .empty }
        let bytes = withUnsafeBytes(of: host.nodename) { Array($0.prefix { $0 != 0 }) }
        return (try? Name(bytes)) ?? .empty
    }

    /// Both halves on one disk are stolen together.
    private func checkDisk(_ workplace: CommandContext) throws {
        let places = workplace.invocation.places
        let store = try places.store()
        let directory = [places.data, places.state].first { directory in
            FileIdentity.isInside(store, directory: directory)
        }
        if let directory {
            guard acceptSameDisk else {
                throw CommandFailure(
                    .usage, "the store lies in the home: whoever takes this disk has both halves of the key",
                    hints: ["tresor remember --accept-same-disk", "tresor … {--store} --store FILE"])
            }
            workplace.output.say(
                "both halves lie in \(DisplayText.quoted(directory)): whoever takes this disk opens the identity")
        } else if FileIdentity.isOnSameDevice(store, places.data) {
            workplace.output.hint(
                "the store is on the same file system as the home; a thief of this disk has both halves")
        }
    }
}

struct ForgetCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "forget", group: .you, abstract: "Ask this device for the password again.", usage: "tresor forget",
            discussion: "Destroys this device's half of the key, then the store's. Never asks; may be repeated.",
            classes: [.write], examples: ["tresor forget"])
    }

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let local = try CommandContext.local(options)
        let isRemembered = (try? local.client.device.isRemembered()) ?? true
        try Interrupts.atomically { try local.client.device.destroyShare() }
        if try isRemembered || local.client.cleanup.isPending() { try await settle() }
        local.output.say(isRemembered ? "this device is forgotten" : "this device was not remembered")
        if options.json { try local.output.object(["type": "device", "this": true, "remembered": false]) }
    }

    /// Lets the store's half follow.
    private func settle() async throws {
        do {
            let workplace = try await CommandContext.open(options)
            try await Interrupts.atomically { try await workplace.client.cleanup.finish() }
        } catch {
            let failure = CommandFailure(error)
            let isMissing = failure.error == .notFound
            throw CommandFailure(
                isMissing ? .store(.inputOutput) : failure.error,
                "this device's half is gone, but the store's is not: \(failure.message)", hints: ["tresor forget"])
        }
    }
}
