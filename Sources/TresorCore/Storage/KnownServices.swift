// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The services that a home has met (SPEC §8.5): 10 bytes, then 64 for each address.
package struct KnownServices: Hashable, Sendable {
    /// The id of the service at each address, which is named by its audience.
    private var services: [Hash256: Hash256] = [:]

    package init() {}

    /// Decodes the known services; the audiences must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.knownServices)
        var audiences: [Hash256] = []
        while decoder.remaining > 0 {
            let audience = try decoder.digest()
            audiences.append(audience)
            services[audience] = try decoder.digest()
        }
        try ByteDecoder.checkRising(audiences)
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.knownServices)
        for (audience, server) in services.sorted(by: { $0.key < $1.key }) {
            encoder.digest(audience)
            encoder.digest(server)
        }
        return encoder.bytes
    }

    /// The id of the service at an address; `nil` for one that the home has not met.
    package subscript(audience: Hash256) -> Hash256? {
        get { services[audience] }
        set { services[audience] = newValue }
    }

    /// The services of both homes of one person.
    ///
    /// - Parameter replaces: whether those of the other home take the place of others at one address.
    /// - Throws: ``TresorError/altered`` where they do not, and the homes have met different services at one address.
    package func joined(with others: KnownServices, replacing replaces: Bool) throws(TresorError) -> KnownServices {
        var all = self
        for (audience, server) in others.services {
            guard replaces || services[audience] ?? server == server else { throw .altered }
            all.services[audience] = server
        }
        return all
    }

    private static func read(from home: any Home) throws(TresorError) -> KnownServices {
        try home.read(.knownServices).map { (bytes) throws(TresorError) in try KnownServices(bytes) } ?? KnownServices()
    }

    /// Notes the service at an address at the first contact, and knows it again later.
    ///
    /// - Throws: ``TresorError/altered`` for another service than the one that is noted; the errors of the home.
    package static func meet(_ server: Hash256, at audience: Hash256, in home: any Home) throws(TresorError) {
        if let known = try read(from: home)[audience] {
            guard known == server else { throw .altered }
            return
        }
        try home.exclusively { () throws(TresorError) in
            var services = try read(from: home)
            guard services[audience] ?? server == server else { throw .altered }
            services[audience] = server
            try home.replace(.knownServices, with: services.bytes)
        }
    }

    /// Reads the id of the service that a home has met at an address; `nil` for none.
    package static func server(at audience: Hash256, in home: any Home) throws(TresorError) -> Hash256? {
        try read(from: home)[audience]
    }

    /// Reads the id of the service for which a home takes what answers at an address; `nil` for none. A server can claim any
    /// id. So one that the home has met at another address too is believed only at the address that the home notes, and so
    /// is any one while the home has not met the service that it notes.
    ///
    /// - Parameter noted: the address that the home notes as the one to use; `nil` if it notes no service.
    package static func believed(
        at audience: Hash256, noted: Hash256?, in home: any Home
    ) throws(TresorError) -> Hash256? {
        let services = try read(from: home).services
        guard let server = services[audience] else { return nil }
        let isNoted = noted == audience
        let isUnmet = noted.map { services[$0] == nil } ?? false
        let isElsewhere = isUnmet || services.contains { $0.key != audience && $0.value == server }
        return isNoted || !isElsewhere ? server : nil
    }

    /// Forgets the service at an address: the next contact is the first one. Known services that do not decode are
    /// forgotten altogether.
    package static func forget(_ audience: Hash256, in home: any Home) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var services: KnownServices
            do throws(TresorError) { services = try read(from: home) } catch {
                guard error == .altered || error == .unsupported else { throw error }
                services = KnownServices()
            }
            services[audience] = nil
            try home.replace(.knownServices, with: services.bytes)
        }
    }
}
