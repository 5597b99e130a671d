// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A relay on this machine that lets so many bytes pass in a second, each way. Its buffers are small.
final class SlowRelay {
    let port: UInt16
    private let process = Process()

    init(to target: UInt16, bytesPerSecond rate: Int) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.program, "\(target)", "\(rate)"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.start()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = try #require(UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit {
        // A child inherits blocked signals, so SIGTERM may never reach it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static let program = """
        import socket, sys, threading, time
        target, rate = int(sys.argv[1]), int(sys.argv[2])
        piece = max(1, rate // 20)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        print(listener.getsockname()[1], flush=True)
        def copy(source, target):
            try:
                while data := source.recv(piece):
                    time.sleep(len(data) / rate)
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        while True:
            client = listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", target))
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            threading.Thread(target=copy, args=(server, client), daemon=True).start()
        """
}
