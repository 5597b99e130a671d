// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCrypto

    @testable import TresorPostgres

    /// Addresses of databases, well and badly written: no password in one is shown.
    @Suite struct PostgresLocationTests {
        @Test func aPasswordInALocationIsNoticed() throws {
            #expect(try #require(PostgresLocation("postgresql://tresor:secret@host/db")).hasPassword)
            #expect(try #require(PostgresLocation("host=a password=b")).hasPassword)
            #expect(try !#require(PostgresLocation("postgresql://tresor@host/db?sslmode=verify-full")).hasPassword)
            #expect(PostgresLocation("postgresql://[") == nil)
        }

        /// An operator who writes a password into the address sees it nowhere again, wherever libpq takes it to be.
        @Test(arguments: [
            "postgresql://tresor:word/secretword@host/db", "postgresql://tresor:secretword/word@host/db",
            "postgresql://tresor:secretword", "postgresql://tresor:secretword/db",
            "postgresql://tresor:word@secretword@host/db", "postgresql://host/secretword@db",
            "postgresql://tresor:secretword%40host/db", "postgresql://tresor:secretword%zz@host/db",
            "postgresql:///db?port=secretword", "postgresql:///db?connect_timeout=secretword",
            "postgresql:///db?sslmode=require%3Bpassword%3Dsecretword", "postgresql:///db?secretword=1",
            "postgresql:///db?sslmode=require;password=secretword", "host=a port=secretword", "host=a secretword",
            "host=a password='secretword", "host=a sslmode='require;secretword'", "password = secretword host = a =",
        ])
        func aBadlyWrittenLocationIsNone(text: String) {
            #expect(PostgresLocation(text) == nil)
        }

        /// What libpq takes for a name may be a password. Neither messages nor the log show its reason then.
        @Test(arguments: [
            "postgresql:///db?host=/nowhere&user=tresor:secretword",
            "postgresql://tresor;secretword@/db?host=/nowhere",
            "postgresql:///tresor:secretword?host=/nowhere", "postgresql:///db%20password=secretword?host=/nowhere",
            "postgresql:///db?host=/nowhere/tresor:secretword", "host=/nowhere user='tresor:secretword'",
            "host=/nowhere dbname='db;password=secretword'", "postgresql:///db?host=/nowhere&sslmode=secretword",
        ])
        func anUnusualPartIsNotShown(text: String) async throws {
            let location = try #require(PostgresLocation(text))
            let told = Mutex<[String?]>([])
            location.outage.onChange { reason in told.withLock { $0.append(reason) } }
            await #expect(throws: TresorError.store(.inputOutput)) { try await PostgresEngine.open(location) }
            let reason = location.outage.reason ?? ""
            #expect(!reason.isEmpty && !reason.contains("secretword"), "\(reason)")
            #expect(told.withLock { $0 }.allSatisfy { $0?.contains("secretword") == false })
            let words = "connection to server failed: FATAL:  role \"tresor:secretword\" does not exist"
            #expect(text.contains("sslmode") || !location.reason(in: words).contains("secretword"))
        }

        /// Plain addresses keep the reason, of a server and of the network alone.
        @Test func aReasonFromOutsideIsShown() throws {
            for text in [
                "postgresql://tresor@db1.example,db2.example:5433/tresor?sslmode=verify-full&sslrootcert=/etc/ca.pem",
                "postgresql://[2001:db8::1]:5432/tresor?options=-c%20synchronous_commit%3Doff",
                "host=/run/postgresql dbname=tresor user=tresor",
            ] {
                let location = try #require(PostgresLocation(text))
                #expect(location.isPlain)
                let words = "connection to server on socket \"/run\" failed: FATAL:  no such role\n\tIs it running?\n"
                #expect(location.reason(in: words).hasSuffix("no such role"))
                let quoting = location.reason(in: "invalid sslmode value: \"secretword\"\n")
                #expect(!quoting.contains("secretword") && quoting.contains("libpq"))
                #expect(location.reason(in: "") == location.reason(in: "anything else"))
            }
        }
    }
#endif
