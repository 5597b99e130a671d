// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import TestSupport
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    @testable import TresorService

    /// Disks that take no more: that of the service, and that of a client who registers. Each is a small one of its own
    /// in a mount namespace of the program's own.
    @Suite(.serialized, .longRun, .enabled(if: SmallDisk.isPossible, "only root mounts a disk for a test"))
    struct FullDiskTests {
        /// The service says that it is full, keeps what it has acknowledged, answers readers, and goes on once there is
        /// room.
        @Test func aFullServiceKeepsWhatItHas() async throws {
            let disk = try SmallDisk()
            let server = try disk.serve(size: "3m")
            let port = try #require(await server.port(), "\(server.said)")
            let anna = try await person("anna", at: port)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            var acknowledged: UInt64 = 0
            var refusal: TresorError?
            for _ in 0..<400 where refusal == nil {
                do throws(TresorError) {
                    acknowledged = try await anna.tresors.perform(.rotate, on: tresor).state.head.sequence
                } catch {
                    refusal = error
                }
            }
            #expect(refusal == .store(.full))
            #expect(await server.says("\"operation\":\"append\",\"status\":507,\"error\":\"store\""))
            #expect(acknowledged > 0)
            // The log of SQLite may have room for one more page: that is not health.
            #expect(try await health(at: port) == 503)
            // A reader is served, and sees what was acknowledged and nothing else.
            #expect(try await anna.client.logs.state(of: tresor).head.sequence == acknowledged)
            let small = await errorOf {
                try await anna.client.store.putServerShare(
                    [UInt8](repeating: 1, count: 32), deviceKey: try DeviceShare(user: anna.user).publicKey(),
                    user: anna.user, device: try DeviceID.random())
            }
            #expect(small == nil || small == .store(.full))

            try await disk.resize(to: "16m", in: server)
            // All who ask in one second share one look.
            try await Task.sleep(for: .seconds(1))
            #expect(try await health(at: port) == 200)
            for _ in 0..<10 {
                acknowledged += 1
                #expect(try await anna.tresors.perform(.rotate, on: tresor).state.head.sequence == acknowledged)
            }
            let check = try await disk.run(["check", disk["clinic.db"]], in: server)
            #expect(check.code == 0, "\(check.text)")
            #expect(check.text.contains(": 0 findings"), "\(check.text)")
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        /// As above, with PostgreSQL on the small disk. It can end itself where it cannot write its log; then somebody
        /// makes room and starts it again, and the service that runs goes on.
        @Test(.enabled(if: PostgresCluster.programs != nil, "PostgreSQL is not installed"))
        func aFullPostgresKeepsWhatItHas() async throws {
            let site = try Site()
            let cluster = try PostgresCluster(
                options: ["-c", "shared_buffers=8MB", "-c", "dynamic_shared_memory_type=mmap"], disk: "160m")
            let database = [try cluster.address(), "--server-key", site["server.key"]]
            let made = await ServerProcess.run(["init"] + database + ["--operator", try site.card()])
            #expect(made.code == 0, "\(made.error)")
            let server = try ServerProcess(
                ["run"] + database + [
                    "--listen", "127.0.0.1:0", "--registration", "open", "--quota-requests", "100000",
                ])
            let port = try #require(await server.port(), "\(server.said)")
            let anna = try await person("anna", at: port)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            let filling = try await Daemon.run([
                "/usr/bin/nsenter", "-t", String(cluster.id), "-m", "/bin/sh", "-c",
                "head -c 200m /dev/zero > /tmp/filler; ls /tmp/filler",
            ])
            #expect(filling.code == 0, "\(filling.text)")
            var acknowledged: UInt64 = 0
            var refusal: TresorError?
            for _ in 0..<2000 where refusal == nil {
                do throws(TresorError) {
                    acknowledged = try await anna.tresors.perform(.rotate, on: tresor).state.head.sequence
                } catch {
                    refusal = error
                }
            }
            #expect(refusal == .store(.full) || refusal == .store(.other), "\(String(describing: refusal))")
            let emptying = try await Daemon.run([
                "/usr/bin/nsenter", "-t", String(cluster.id), "-m", "/bin/rm", "/tmp/filler",
            ])
            #expect(emptying.code == 0, "\(emptying.text)")
            if cluster.processes.count < 2 { try cluster.restart() }
            var isServed = false
            for _ in 0..<100 where !isServed {
                isServed = (try? await anna.tresors.perform(.rotate, on: tresor)) != nil
                if !isServed { try await Task.sleep(for: .milliseconds(100)) }
            }
            #expect(isServed)
            #expect(try await anna.client.logs.state(of: tresor).head.sequence > acknowledged)
            let check = await ServerProcess.run(["check", database[0]])
            #expect(check.code == 0, "\(check.output)\(check.error)")
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        /// Whatever the home could not keep, the same command goes on once there is room.
        @Test func aFullHomeRegistersLater() async throws {
            let disk = try SmallDisk()
            let server = try disk.serve(size: "16m")
            let port = try #require(await server.port(), "\(server.said)")
            // The home lies on a disk of 256 KiB, which is then filled to the last page.
            let script = """
                set -e
                mkdir "$DISK/home" && mount -t tmpfs -o size=256k,mode=700 none "$DISK/home" && cd "$DISK/home"
                umask 077 && echo the password of anna > "$DISK/password"
                anna() { "$TRESOR" --home "$DISK/home" --store "http://127.0.0.1:$PORT" --batch --password-file "$DISK/password" "$@"; }
                anna keygen anna --no-kit --argon2id 64,3
                head -c 262144 /dev/zero > filler 2> /dev/null || true
                code=0; anna register --no-login 2> "$DISK/said" || code=$?
                echo "full: $code"; cat "$DISK/said"
                rm filler
                anna register --no-login && echo registered
                anna create plans && anna check && echo checked
                """
            let run = try await Daemon.run([
                "/usr/bin/nsenter", "-t", String(server.id), "-m", "/usr/bin/env", "DISK=\(disk.path)", "PORT=\(port)",
                "TRESOR=\(ServerProcess.path("tresor"))", "HOME=\(disk.path)", "/bin/sh", "-c", script,
            ])
            #expect(run.code == 0, "\(run.text)")
            #expect(run.text.contains("registered") && run.text.contains("checked"), "\(run.text)")
            let full = run.text.firstMatch(of: /full: ([0-9]+)/).flatMap { Int($0.1) }
            // Either the home needed no room, or it says that there is none.
            #expect(full == 0 || full == 1, "\(run.text)")
            if full == 1 { #expect(run.text.contains("tresor: error: "), "\(run.text)") }
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        /// The status of `/health`.
        private func health(at port: Int) async throws -> Int? {
            let client = try RawClient(port: port)
            await client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return await client.readAnswer()?.status
        }

        /// Makes a person with an account.
        private func person(_ handle: String, at port: Int) async throws -> Session {
            let identity = try Identity.make(handle: Name(typed: handle), time: SystemClock.read())
            let store = try HTTPStore("http://127.0.0.1:\(port)")
            let session = try Newcomer.session(of: identity, on: store, clock: SystemClock.read)
            try await Newcomer.register(identity, with: store.service)
            return session
        }
    }

    /// A directory that is a small disk for one program and those that join it.
    final class SmallDisk: Sendable {
        static let isPossible: Bool = {
            guard geteuid() == 0, Daemon.path("unshare") != nil, Daemon.path("nsenter") != nil else { return false }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
            process.arguments = ["-m", "/bin/sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
            guard (try? process.start()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }()

        private let site: Site
        let path: String

        init() throws {
            site = try Site()
            path = site["disk"]
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        subscript(_ name: String) -> String { path + "/" + name }

        /// Makes a service on the disk and runs it.
        func serve(size: String) throws -> ServerProcess {
            let script = """
                disk=$1 size=$2 card=$3; shift 3
                mount -t tmpfs -o "size=$size" none "$disk" && "$1" init "$disk/clinic.db" --operator "$card" > "$disk/made" &&
                    exec "$@"
                """
            return try ServerProcess(
                [
                    "run", self["clinic.db"], "--listen", "127.0.0.1:0", "--registration", "open", "--quota-requests",
                    "100000",
                ],
                through: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh", path, size, try site.card()])
        }

        /// Gives the disk another size.
        func resize(to size: String, in server: ServerProcess) async throws {
            let run = try await Daemon.run([
                "/usr/bin/nsenter", "-t", String(server.id), "-m", "/bin/mount", "-o", "remount,size=\(size)", path,
            ])
            #expect(run.code == 0, "\(run.text)")
        }

        /// Runs the program of the service beside the one that runs.
        func run(_ arguments: [String], in server: ServerProcess) async throws -> (code: Int32?, text: String) {
            try await Daemon.run(
                ["/usr/bin/nsenter", "-t", String(server.id), "-m", ServerProcess.path("tresor-server")] + arguments)
        }
    }
#endif
