// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

struct RememberCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "remember", group: .you, abstract: "Trust this device to open the identity without the password.",
            usage: "tresor remember [--name TEXT] [--days N] [--accept-same-disk]",
            discussion: """
                Splits a key into a device share, kept here, and a server share, kept in the store; neither opens \
                anything alone. tresor device revoke deletes the server share. A store in the home is refused, since both are stolen \
                together there; one on the same file system is named.
                """,
            classes: [.identity, .write], examples: ["tresor remember --name \"ward 3\" --days 7"])
    }

    @Option(help: ArgumentHelp("The name of this device in lists; the host's name if omitted.", valueName: "TEXT"))
    var name: String?

    @Option(help: ArgumentHelp("The number of days, 1 to 3650; 30 if omitted.", valueName: "N"))
    var days: UInt64 = 30

    @Flag(help: "Continue although the store is a file in the home.")
    var acceptSameDisk = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard (1...3650).contains(days) else { throw CommandFailure.usage("--days takes 1 to 3650") }
        let deviceName = try deviceName()
        // Whether the device was trusted does not matter any more.
        _ = Surroundings.current.notices.tellsDevice()
        let context = try await CommandContext.open(options, acceptingDevice: false)
        try checkDisk(context)
        let session = try await context.unlock(to: "remember this device", acceptingDevice: false)
        let newest = try session.unlocking.ownTime()
        if newest > context.now + Timestamp.secondsPerDay {
            context.output.say(
                "something that you signed is dated \(Timestamp(seconds: newest).date), and this machine's clock says "
                    + "\(Timestamp(seconds: context.now).date): the trust counts by this clock, and until the later date "
                    + "nothing notices a clock that is set back")
        }
        let until = min(context.now + days * Timestamp.secondsPerDay, Format.latestTime)
        let device = try await Interrupts.atomically {
            try await session.unlocking.rememberDevice(name: deviceName, until: until)
        }
        let last = Timestamp(seconds: device.until)
        let shown = "\(DisplayText.quoted(device.name.bytes)) (\(device.id.description.prefix(10)))"
        context.output.say("this device, \(shown), opens the identity until \(last.date)")
        guard options.json else { return }
        try context.output.object(DeviceCommand.object(device, isThis: true))
    }

    private func deviceName() throws -> Name {
        if let name { return try CommandContext.name(name, of: "a device's name") }
        var host = utsname()
        guard uname(&host) == 0 else { return .empty }
        let bytes = withUnsafeBytes(of: host.nodename) { Array($0.prefix { $0 != 0 }) }
        return (try? Name(bytes)) ?? .empty
    }

    /// Refuses to keep both shares on one disk, where they are stolen together.
    private func checkDisk(_ context: CommandContext) throws {
        let places = context.invocation.places
        if let directory = try places.directoryOfStore() {
            guard acceptSameDisk else {
                throw CommandFailure(
                    .usage, "the store is in the home: anyone who takes this disk has both shares of the key",
                    hints: ["tresor … --accept-same-disk", "tresor … {--store} --store FILE"])
            }
            context.output.say(
                "both shares are in \(DisplayText.quoted(directory)): anyone who takes this disk can open the identity")
        } else if places.isStoreOnThisDisk {
            context.output.say(
                "the store is on the same file system as the home: anyone who takes this disk has both shares of the key"
            )
        }
    }
}

struct ForgetCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "forget", group: .you, abstract: "Stop trusting this device; ask for the password again.",
            usage: "tresor forget",
            discussion: "Destroys the device share, then the server share. Never asks; can be repeated.",
            classes: [.write], examples: ["tresor forget"])
    }

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        try await Self.forget(options)
        guard options.json else { return }
        try CommandContext.local(options).output.object(["type": "device", "this": true, "remembered": false])
    }

    /// Ends the trust in this device, and says so.
    static func forget(_ options: GlobalOptions) async throws {
        let local = try CommandContext.local(options)
        let isEnding = (try? local.client.cleanup.endingDevicesBlocking().isEmpty) == false
        let isRemembered = (try? local.client.device.isRememberedBlocking()) ?? true
        let share = try await Interrupts.atomically { try await local.client.device.destroyShare() }
        if try isRemembered || local.client.cleanup.isPendingBlocking() { try await settle(share, options) }
        local.output.say(
            isRemembered || isEnding ? "this device is no longer trusted" : "this device was not trusted")
    }

    /// Destroys the server share too. To a service, the device itself says so.
    private static func settle(_ share: DeviceShare?, _ options: GlobalOptions) async throws {
        do {
            let context = try await CommandContext.open(options, identifying: false)
            try await Interrupts.atomically { try await context.client.device.finishForgetting(share) }
        } catch {
            let failure = CommandFailure(error)
            let isMissing = failure.error == .notFound
            throw CommandFailure(
                isMissing ? .store(.inputOutput) : failure.error,
                "the device share is destroyed, but the server share is not, run this again later: \(failure.message)",
                hints: failure.hints)
        }
    }
}
