// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Foundation
    import Glibc
    import Testing

    /// A proxy of this machine that makes connections.
    final class ConnectProxy {
        let port: UInt16
        private let process = Process()

        /// - Parameter line: the first line of its answers.
        init(answering line: String) throws {
            let output = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["python3", "-c", Self.program, line]
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            port = try #require(UInt16(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        deinit { process.terminate() }

        private static let program = """
            import socket, sys, threading
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
                head = b""
                while not head.endswith(b"\\r\\n\\r\\n"):
                    head += client.recv(1)
                host, port = head.split()[1].decode().rsplit(":", 1)
                server = socket.create_connection((host, int(port)))
                client.sendall(sys.argv[1].encode() + b"\\r\\n\\r\\n")
                threading.Thread(target=copy, args=(client, server), daemon=True).start()
                copy(server, client)
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """
    }

    /// A port that answers no connection: its queue is full.
    final class BlackHole {
        let port: UInt16
        private var descriptors: [Int32] = []

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            descriptors.append(listener)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(listener, address, size) == 0 && listen(listener, 0) == 0
                        && getsockname(listener, address, &size) == 0
                }
            }
            try #require(isBound)
            port = UInt16(bigEndian: address.sin_port)
            for _ in 0..<4 {
                let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                descriptors.append(filler)
                _ = withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(filler, $0, size) }
                }
            }
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }
#endif
