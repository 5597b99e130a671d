// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore

struct DeviceCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "device", group: .you, abstract: "List trusted devices, revoke them, or add a machine.",
            usage: """
                tresor device [list]
                tresor device revoke ID… [--yes]
                tresor device add
                """,
            discussion: """
                Lists the devices that open the identity of this home; each home has a list of its own. This \
                device is marked with *. A store that keeps a deleted server share can still open the identity, \
                together with the stolen disk. If both are possible, run tresor rotate --identity. \
                add gives your identity to another machine, with the people that you verified and the heads that this \
                home has seen. It shows a code, which is typed there within ten minutes: tresor recover --from-device. \
                Both machines use one store. Changes of records that are not sent stay here.
                """,
            classes: [.identity, .store, .write], further: [.waiting],
            examples: ["tresor device list", "tresor device revoke k3m9xq", "tresor device add"])
    }

    @Argument(
        help: ArgumentHelp("list, add, or revoke and ids of at least 6 characters.", valueName: "ACTION"),
        completion: .list(["list", "revoke", "add"]))
    var words: [String] = []

    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        switch words.first {
        case nil, "list":
            guard words.count <= 1 else { throw CommandFailure.usage("device list takes no ID") }
            try await list()
        case "revoke":
            guard words.count > 1 else {
                throw CommandFailure.usage("name the devices to revoke", hints: ["tresor device list"])
            }
            try await revoke(Array(words.dropFirst()))
        case "add":
            guard words.count == 1 else { throw CommandFailure.usage("device add takes no ID") }
            guard !consent.yes else {
                throw CommandFailure.usage("--yes does not go with device add, which asks when a machine has come")
            }
            try await DeviceAddition(options: options).run()
        default: throw CommandFailure.usage("device takes list, revoke or add", hints: ["tresor help device"])
        }
    }

    private func list() async throws {
        let context = try await CommandContext.open(options)
        _ = try await context.unlock(to: "list devices")
        let this = try context.client.device.idBlocking()
        var table = Table("ID", "NAME", "SINCE", "UNTIL")
        let dead = try context.client.cleanup.deadDevicesBlocking()
        let devices = try context.identityFile().devices.filter { !dead.contains($0.id) }
        for device in devices {
            guard !options.json else {
                try context.output.object(Self.object(device, isThis: device.id == this))
                continue
            }
            let mark = device.id == this ? "*" : ""
            table.add(
                "\(device.id.description.prefix(10))\(mark)", DisplayText.name(device.name.bytes),
                Timestamp(seconds: device.since).date, Timestamp(seconds: device.until).date)
        }
        if !options.json { try context.output.table(table) }
        if devices.isEmpty { context.output.say("no device is trusted here; each of your homes has its own list") }
    }

    private func revoke(_ ids: [String]) async throws {
        let context = try await CommandContext.open(options)
        let devices = try context.identityFile().devices
        let known = Set(devices.map(\.id)).union(try context.client.cleanup.endingDevicesBlocking())
        var chosen: [DeviceID] = []
        for id in ids {
            let found = known.filter { Base32.namedBy(id, $0.bytes) }
            guard let first = found.first else {
                throw CommandFailure(
                    .notFound,
                    "this home trusts no device \(DisplayText.name(id)): each home has a list of its own, and "
                        + "\(HintCompletion.command("rotate --identity")) ends the devices of all",
                    hints: known.isEmpty ? [] : ["tresor device list"])
            }
            guard found.count == 1 else {
                throw CommandFailure.usage("\(DisplayText.name(id)) can mean several devices")
            }
            if !chosen.contains(first) { chosen.append(first) }
        }
        let session = try await context.unlock(to: "revoke devices", acceptingDevice: false)
        context.output.explain(
            "a store that keeps a deleted server share can still open the identity, together with the stolen disk")
        context.output.explain("if both are possible: \(HintCompletion.command("rotate --identity"))")
        let names = chosen.map { id in
            let name = devices.first { $0.id == id }.map { " \(DisplayText.quoted($0.name.bytes))" } ?? ""
            return "\(id.description.prefix(10))\(name)"
        }
        try context.confirm("revoke \(names.joined(separator: ", "))?", yes: consent.yes)
        try await Interrupts.atomically { try await session.unlocking.revokeDevices(chosen) }
        for id in chosen {
            context.output.say("\(id.description.prefix(10)) no longer opens the identity")
            guard options.json, let device = devices.first(where: { $0.id == id }) else { continue }
            var object = Self.object(device, isThis: false)
            object["revoked"] = true
            try context.output.object(object)
        }
    }

    static func object(_ device: TrustedDevice, isThis: Bool) -> JSONObject {
        [
            "type": "device", "id": .string(device.id.description), "name": .text(device.name.bytes),
            "since": .time(device.since), "until": .time(device.until), "this": .bool(isThis),
        ]
    }
}
