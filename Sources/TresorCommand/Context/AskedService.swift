// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote

/// A service, asked for what no ``Store`` has in the name of this home's person (SPEC §18.6).
struct AskedService: Sendable {
    let context: CommandContext
    let session: Session
    /// The address, fit to be shown.
    let place: String
    private let client: ServiceClient

    /// Opens the identity of this home.
    ///
    /// - Parameter reason: completes "password for anna (to …)".
    /// - Throws: 64 if the store is a file; the errors of ``CommandContext/open(_:creating:identifying:)``.
    static func open(_ options: GlobalOptions, to reason: String) async throws -> AskedService {
        let context = try await context(options, identifying: true)
        guard let client = context.service else { throw needed }
        return AskedService(
            context: context, session: try await context.unlock(to: reason),
            place: DisplayText.quoted(try context.invocation.places.store()), client: client)
    }

    /// Opens the service, in nobody's name unless `identifying` says so.
    ///
    /// - Throws: 64 if the store is a file.
    static func context(_ options: GlobalOptions, identifying: Bool = false) async throws -> CommandContext {
        let isService = try CommandContext.local(options).invocation.places.service() != nil
        guard isService else { throw needed }
        return try await CommandContext.open(options, identifying: identifying)
    }

    /// The service of a command that works on files too; `nil` if the store is a file.
    init?(_ session: Session, _ context: CommandContext) {
        guard let client = context.service, let place = try? context.invocation.places.store() else { return nil }
        self.init(context: context, session: session, place: DisplayText.quoted(place), client: client)
    }

    private init(context: CommandContext, session: Session, place: String, client: ServiceClient) {
        self.context = context
        self.session = session
        self.place = place
        self.client = client
    }

    static var needed: CommandFailure {
        .usage(
            "the store is a file: there is nothing to register with, and nobody to admit",
            hints: ["tresor … {--store} --store https://HOST"])
    }

    /// Sends a request in the name of this home's person.
    ///
    /// - Throws: the errors of `ServiceClient.call`.
    func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
        guard let caller = session.client.caller else { throw .noAccess }
        return try await client.speaking(as: caller).call(request)
    }

    /// The id of the service.
    func serverID() async throws(TresorError) -> Hash256 { try await client.serverID() }
}
