// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Copenssl
    import Glibc
#endif

/// Where the certificates of the trusted authorities are.
package struct Authorities: Hashable, Sendable {
    /// A file with all of them (PEM); `nil` for none.
    package var file: String?
    /// Directories with a file for each, named by its hash and parted by colons; `nil` for none.
    package var directory: String?
    /// Files that are read if nothing else vouches for a certificate: reading one takes 50 ms.
    package var bundles: [String] = []

    /// The files of this kind that systems have.
    package static let knownBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem", "/etc/ssl/cert.pem",
        "/usr/local/etc/ssl/cert.pem", "/usr/local/share/certs/ca-root-nss.crt",
    ]

    /// Chooses the authorities: the file that the caller names, otherwise those that the environment names as for
    /// OpenSSL, otherwise the system's.
    ///
    /// - Parameters:
    ///   - named: the file that the caller names; `nil` for none.
    ///   - environment: gives the value of a variable.
    ///   - systemDirectory: the directory of the system.
    package init(named: String?, environment: (String) -> String?, systemDirectory: String) {
        func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if let named {
            file = named
            return
        }
        (file, directory) = (value("SSL_CERT_FILE"), value("SSL_CERT_DIR"))
        guard file == nil, directory == nil else { return }
        directory = systemDirectory + ":/etc/ssl/certs"
        bundles = Self.knownBundles
    }
}

#if !canImport(Darwin)
    extension Authorities {
        /// Chooses the authorities by the environment of this process.
        package init(named: String?) {
            self.init(
                named: named, environment: { getenv($0).flatMap { String(validatingCString: $0) } },
                systemDirectory: X509_get_default_cert_dir().map { String(cString: $0) } ?? "/etc/ssl/certs")
        }

        /// The places that have certificates.
        func places(_ bundle: String?) -> [String] {
            let directories = (directory ?? "").split(separator: ":").map(String.init).filter(Self.hasEntries)
            return [file, bundle].compactMap(\.self) + directories
        }

        private static func hasEntries(_ path: String) -> Bool {
            guard let directory = opendir(path) else { return false }
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { return true }
            }
            return false
        }
    }
#endif
