// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A relay that speaks TLS to its client and plain TCP to a server of this machine.
final class TLSFront {
    /// The certificates that it can show.
    enum Certificate: String, CaseIterable, Sendable {
        case valid, expired
        /// For another name.
        case other
    }

    let port: UInt16
    let authority: String
    private let process = Process()
    private let directory: URL

    /// Whether the programs that it needs are here.
    static var isPossible: Bool {
        ["/usr/bin/openssl"].allSatisfy(FileManager.default.isExecutableFile(atPath:))
    }

    init(to target: UInt16, showing certificate: Certificate = .valid, onlyTLS12: Bool = false) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "tresor-tls-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let names =
            certificate == .other ? "DNS:other.example,IP:192.0.2.1" : "DNS:localhost,IP:127.0.0.1"
        let days = certificate == .expired ? "-1" : "2"
        try Self.run(
            "sh", "-c",
            """
            cd '\(directory.path)' && echo 'subjectAltName=\(names)' > names &&
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -subj /CN=t -out request 2>/dev/null &&
            openssl x509 -req -in request -signkey key -days \(days) -extfile names -out certificate 2>/dev/null
            """)
        authority = directory.appending(path: "certificate").path
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c", Self.program, authority, directory.appending(path: "key").path, "\(target)",
            onlyTLS12 ? "1.2" : "1.3",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.start()
        let line = output.fileHandleForReading.availableData
        port = try #require(
            UInt16(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit {
        // A child inherits blocked signals, so SIGTERM may never reach it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    /// A directory with the certificate alone, named by its hash.
    func hashedDirectory() throws -> String {
        try Self.run(
            "sh", "-c",
            """
            cd '\(directory.path)' && mkdir -p hashed &&
            cp certificate hashed/"$(openssl x509 -in certificate -noout -subject_hash)".0
            """)
        return directory.appending(path: "hashed").path
    }

    private static func run(_ words: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        try process.start()
        try process.end()
        try #require(process.terminationStatus == 0)
    }

    private static let program = """
        import socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if sys.argv[4] == "1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        def copy(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        def serve(client):
            try:
                client = context.wrap_socket(client, server_side=True)
            except (OSError, ssl.SSLError):
                return
            server = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            copy(server, client)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
