// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import Testing

    @testable import TresorServer

    /// What the machine of a service lacks, or holds in its place, is named.
    @Suite struct SystemLimitTests {
        private func made() async throws -> Site {
            let site = try Site()
            let ending = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            #expect(ending.code == 0, "\(ending.error)")
            return site
        }

        /// Starts the service below a limit of files, as `ulimit` takes it.
        private func service(_ site: Site, _ limit: String) throws -> ServerProcess {
            try ServerProcess(
                ["run", site["clinic.db"], "--listen", "127.0.0.1:0"],
                through: ["/bin/sh", "-c", "ulimit \(limit) && exec \"$@\"", "sh"])
        }

        @Test func aServiceWithoutDescriptorsIsNotStarted() async throws {
            let least = OpenFiles.leastCount
            let ending = await (try service(try await made(), "-n \(least - 1)")).end()
            #expect(ending.code == 1)
            #expect(
                ending.error
                    == "tresor-server: this process may have \(least - 1) files and connections open, and a service needs \(least) and "
                    + "one for each client: raise that with ulimit -n, or with LimitNOFILE of systemd\n")
        }

        @Test func theLimitOfDescriptorsIsRaised() async throws {
            let most = OpenFiles.leastCount + 100
            let site = try await made()
            defer { withExtendedLifetime(site) {} }
            let server = try service(site, "-Sn \(most - 50) && ulimit -Hn \(most)")
            _ = try #require(await server.port())
            let limits = try String(contentsOfFile: "/proc/\(server.id)/limits", encoding: .utf8)
            let numbers = limits.firstMatch(of: /Max open files +(\d+) +(\d+)/)
            let found = numbers.map { [String($0.1), String($0.2)] }
            #expect(found == ["\(most)", "\(most)"], "\(limits)")
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        @Test func theLogSaysThatNoConnectionIsTaken() async throws {
            let site = try await made()
            defer { withExtendedLifetime(site) {} }
            let server = try service(site, "-n \(OpenFiles.leastCount)")
            let port = try #require(await server.port())
            let clients = try (0..<Int(OpenFiles.leastCount)).map { _ in try RawClient(port: port) }
            #expect(await server.says("\"level\":\"error\",\"event\":\"no-descriptors\""))
            #expect(clients.count == Int(OpenFiles.leastCount))
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        /// A restored copy does not start without its key, or with another one.
        @Test func aCheckLooksAtTheKey() async throws {
            let (site, other) = (try await made(), try await made())
            let good = await ServerProcess.run(["check", site["clinic.db"]])
            #expect(good.code == 0 && good.error.isEmpty)
            let strange = await ServerProcess.run(["check", site["clinic.db"], "--server-key", other["server.key"]])
            #expect(strange.code == 15 && strange.output.contains("0 findings"))
            #expect(strange.error.contains("belongs to another service than that in"), "\(strange.error)")
            try FileManager.default.removeItem(atPath: site["server.key"])
            let alone = await ServerProcess.run(["check", site["clinic.db"]])
            #expect(alone.code == 0 && alone.error.contains("the server key is missing"), "\(alone.error)")
            let named = await ServerProcess.run(["check", site["clinic.db"], "--server-key", site["none"]])
            #expect(named.code == 10)
        }

        @Test func aDirectoryIsNoDatabase() async throws {
            let site = try await made()
            let ending = await ServerProcess.run(["check", site.path])
            #expect(ending.code == 18)
            #expect(ending.error.contains("it is a directory: name the file in it"), "\(ending.error)")
        }

        @Test(.enabled(if: geteuid() != 0, "root may write everything"))
        func aDatabaseThatMayNotBeWrittenIsNamed() async throws {
            let site = try await made()
            #expect(chmod(site["clinic.db"], 0o400) == 0)
            let ending = await ServerProcess.run(["check", site["clinic.db"]])
            let words = "you may not write \(site["clinic.db"]): run this as the user of the service"
            #expect(ending.code == 18 && ending.error.contains(words), "\(ending.error)")
        }

        @Test func theDatabaseOfAServiceIsNoStore() async throws {
            let (site, other) = (try await made(), try await made())
            let before = try Data(contentsOf: URL(fileURLWithPath: other["clinic.db"]))
            let ending = await ServerProcess.run(["import", site["clinic.db"], other["clinic.db"], "--yes"])
            #expect(ending.code == 18 && ending.output.isEmpty)
            let words = "\(other["clinic.db"]) is the database of a service, and not the store of a file"
            #expect(ending.error.contains(words), "\(ending.error)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: other["clinic.db"])) == before)
        }

        /// It may be the only one of a service that goes on elsewhere.
        @Test func aCopiedKeyIsLeftAlone() async throws {
            let site = try await made()
            let ending = await ServerProcess.run([
                "init", site["new.db"], "--operator", site["operator.card"], "--server-key", site["server.key"],
            ])
            #expect(ending.code == 1)
            #expect(ending.error.contains("may be the only key of another service"), "\(ending.error)")
            #expect(!ending.error.contains("remove"))
        }

        @Test(.enabled(if: SmallDisk.isPossible, "only root mounts a disk for a test"))
        func whatStartsOnAFullDiskSaysWhatToFree() async throws {
            let site = try Site()
            let script = """
                set -e
                mkdir "$SITE/disk"
                mount -t tmpfs -o size=3m,mode=700 none "$SITE/disk"
                "$SERVER" init "$SITE/disk/clinic.db" --operator "$CARD" >"$SITE/made"
                head -c 4194304 /dev/zero >"$SITE/disk/filler" 2>"$SITE/said" || true
                for words in check "close x --yes" "withdraw x" "run --listen 127.0.0.1:0"; do
                    code=0
                    set -- $words
                    command=$1
                    shift
                    "$SERVER" "$command" "$SITE/disk/clinic.db" "$@" || code=$?
                    echo "$command: $code"
                done
                rm "$SITE/disk/filler"
                "$SERVER" check "$SITE/disk/clinic.db"
                """
            let run = try await Daemon.run([
                "/usr/bin/env", "SITE=\(site.path)", "SERVER=\(ServerProcess.path("tresor-server"))",
                "CARD=\(try site.card())", "/usr/bin/unshare", "-m", "/bin/sh", "-c", script,
            ])
            #expect(run.code == 0, "\(run.text)")
            for command in ["check", "close", "withdraw", "run"] {
                #expect(run.text.contains("\(command): 18"), "\(run.text)")
            }
            #expect(run.text.ranges(of: "its disk is full: free at least 1 MiB").count == 4, "\(run.text)")
            #expect(run.text.contains("0 findings"), "\(run.text)")
        }
    }
#endif
