// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote

/// The services that a home has used, without the one of the command: what a command changes here stays there as it was.
struct OtherServices {
    /// The change that a command has made in this home, and in its store.
    enum NewSecret {
        case password, keys
    }

    private struct Service {
        let address: ServiceAddress
        /// Whether the home knows of a log-in by password there.
        let hasLogin: Bool
    }

    private let services: [Service]
    private let places: Paths
    private let output: Output

    /// Looks into the home alone. What does not read there is for *check*.
    init(_ context: CommandContext) {
        services = (try? Self.services(context)) ?? []
        (places, output) = (context.invocation.places, context.output)
    }

    /// Whether a password is another one than that of the home: a command that a warning names brings it to another service
    /// as it is, which is nothing to warn of.
    func isNew(_ password: borrowing Password, for client: Client) async -> Bool {
        guard services.contains(where: \.hasLogin) else { return true }
        return (try? await client.unlock(password: password)) == nil
    }

    private static func services(_ context: CommandContext) throws -> [Service] {
        let (places, home) = (context.invocation.places, context.client.home)
        let noted = try places.notedService().map { [$0.address] } ?? []
        let used = context.client.archive.allStores().compactMap {
            try? ServiceAddress(String(decoding: $0.bytes, as: UTF8.self))
        }
        let logins = try ServiceLogin.servers(in: home)
        func server(at address: ServiceAddress) throws -> Hash256? {
            try KnownServices.server(at: address.audience.hash(), in: home)
        }
        // A server can claim any id: it hides no other address but one of the service that the home notes.
        let known = try noted.first.flatMap { try server(at: $0) }
        var met: Set<ServiceAddress> = []
        if let here = try places.service() { met.insert(here.address) }
        var services: [Service] = []
        for address in noted + used {
            guard let server = try server(at: address), met.insert(address).inserted,
                noted.contains(address) || server != known
            else { continue }
            services.append(Service(address: address, hasLogin: logins.contains(server)))
        }
        return services
    }

    /// Says of each what it goes on taking, and the command that ends it there.
    func tell(_ change: NewSecret) {
        for service in services {
            guard let command = command(for: change, at: service) else { continue }
            let place = DisplayText.quoted(service.address.description)
            output.warn(
                change == .password
                    ? "the log-in at \(place) still takes an earlier password"
                    : "the service at \(place) still takes your earlier keys"
                        + (service.hasLogin ? ", and the log-in there opens them" : ""),
                hint: command)
        }
    }

    /// The same for an object; `nil` if there is none of them.
    func json(_ change: NewSecret) -> JSON? {
        let rows: [JSON] = services.compactMap { service in
            command(for: change, at: service).map { command in
                JSON.object([
                    "store": .string(service.address.description),
                    "run": .string(HintCompletion.complete(command)),
                ])
            }
        }
        return rows.isEmpty ? nil : .array(rows)
    }

    /// The command that brings a change to a service; `nil` if nothing there is older.
    private func command(for change: NewSecret, at service: Service) -> String? {
        let options = places.options(to: service.address.description)
        switch (change, service.hasLogin) {
        case (.password, true): return "tresor passwd \(options)"
        case (.password, false): return nil
        case (.keys, true): return "tresor register \(options)"
        case (.keys, false): return "tresor register --no-login \(options)"
        }
    }

    /// The command that brings new keys to a store; `nil` for a file.
    func command(forKeysAt store: StoreName) -> String? {
        services.first { store.bytes.elementsEqual($0.address.description.utf8) }
            .flatMap { command(for: .keys, at: $0) }
    }
}
