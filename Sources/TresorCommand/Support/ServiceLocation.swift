// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

/// Where a service is, and how this home reaches it.
struct ServiceLocation: Sendable, Equatable {
    let address: ServiceAddress
    /// The absolute path of the file with the certificates of the authorities; `nil` for the system's.
    var certificates: String?
    var proxy: HostAndPort?

    /// Reads what was given on the command line, or is noted in a home.
    ///
    /// - Throws: 64 for an address of another form.
    init(_ text: String, certificates: String? = nil, proxy: String? = nil) throws(CommandFailure) {
        do throws(TresorError) {
            address = try ServiceAddress(text)
        } catch {
            throw .usage(
                "\(DisplayText.quoted(text)) is not the address of a service",
                hints: ["tresor … {--store} --store https://HOST", "tresor … {--store} --store https://HOST:PORT"])
        }
        self.certificates = certificates
        guard let proxy else { return }
        guard address.isSecure else { throw .usage("--store-proxy goes with an address that begins with https://") }
        do throws(TresorError) {
            self.proxy = try HostAndPort(proxy)
        } catch {
            throw .usage(
                "\(DisplayText.quoted(proxy)) is not the address of a proxy",
                hints: ["tresor … {--store-proxy} --store-proxy HOST:PORT"])
        }
    }

    /// The lines by which a home notes it.
    var note: String {
        var lines = [address.description]
        if let certificates { lines.append(Self.certificatesKey + certificates) }
        if let proxy { lines.append(Self.proxyKey + proxy.text) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Reads the lines of ``note``; `nil` for others.
    init?(note: String) {
        var lines = note.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
        if lines.last == "" { lines.removeLast() }
        guard let address = lines.popFirst() else { return nil }
        var (certificates, proxy): (String?, String?) = (nil, nil)
        if let line = lines.first, line.hasPrefix(Self.certificatesKey) {
            certificates = String(line.dropFirst(Self.certificatesKey.count))
            lines.removeFirst()
        }
        if let line = lines.first, line.hasPrefix(Self.proxyKey) {
            proxy = String(line.dropFirst(Self.proxyKey.count))
            lines.removeFirst()
        }
        guard lines.isEmpty, let read = try? Self(address, certificates: certificates, proxy: proxy) else {
            return nil
        }
        self = read
    }

    private static let certificatesKey = "ca "
    private static let proxyKey = "proxy "

    /// Makes the store of the service. Nothing is sent yet.
    ///
    /// - Throws: 1 for a file of certificates that cannot be read.
    func open(
        report: ServiceReport, clock: @escaping @Sendable () -> UInt64
    ) throws(CommandFailure) -> HTTPStore {
        do throws(TresorError) {
            return try HTTPStore(address, certificates: certificates, proxy: proxy, report: report, clock: clock)
        } catch {
            guard let file = Authorities(named: certificates).file, error == .failed(.inputOutput) else {
                throw CommandFailure(error)
            }
            let fault = FileIdentity(path: file) == nil ? "is missing" : "has no certificates that you can read (PEM)"
            throw CommandFailure(
                of: error, "the file of authorities \(DisplayText.quoted(file)) \(fault)",
                hints: ["tresor … {--store-ca} --store-ca FILE"]
                    + (certificates == nil ? ["unset SSL_CERT_FILE"] : []), file: file)
        }
    }
}
