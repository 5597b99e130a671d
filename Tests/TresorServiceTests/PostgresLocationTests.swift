// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCrypto
    import TresorService

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
            "postgresql://tresor:12?secretword@host/db", "postgresql://tresor:87654321/db", "host=a port=65536",
            "postgresql://tresor:87654321/secret@host/db", "postgresql://tresor:123/secretword?word@host/db",
            "host=a port=5432,99999", "host=a port=-1", "host=a connect_timeout=1s", "host=a connect_timeout=--1",
        ])
        func aBadlyWrittenLocationIsNone(text: String) {
            #expect(PostgresLocation(text) == nil)
        }

        /// A text that libpq takes for a name may be a password. Neither messages nor the log show its reason then.
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

        /// Settings that libpq takes are taken, also where they are not shown.
        @Test(arguments: [
            "postgresql://host/db?krbsrvname=a/b", "postgresql://host/db?sslrootcert=/a@b.pem",
            "postgresql://host/db?krbsrvname=a@b&user=tresor", "host=a krbsrvname='a b'", "host=a requirepeer='a:b'",
        ])
        func anUnusualLocationIsOne(text: String) throws {
            let location = try #require(PostgresLocation(text))
            #expect(!location.isPlain && !location.hasPassword)
            #expect(location.shown == "postgresql://…")
        }

        @Test(arguments: [
            "postgresql://host/db?connect_timeout=-1", "postgresql://host/db?keepalives=0&sslsni=1",
            "postgresql://host/db?krbsrvname=postgres&requirepeer=postgres&target_session_attrs=read-write",
            "host=a,b port=,5433", "host=a,b port=5432,5433 gssencmode=disable channel_binding=require",
        ])
        func aPlainLocationIsShown(text: String) throws {
            let location = try #require(PostgresLocation(text))
            #expect(location.isPlain)
        }

        /// The keywords of a later libpq than that of this machine.
        @Test func eachKeywordHasItsForm() {
            typealias Form = PostgresLocation.Form
            #expect(Form(ofKeyword: "require_auth").contains("!password,!md5"))
            #expect(!Form(ofKeyword: "require_auth").contains("password;secretword"))
            #expect(Form(ofKeyword: "sslkeylogfile").contains("/run/keys.log"))
            #expect(Form(ofKeyword: "servicefile").contains("/etc/pg_service.conf"))
            for keyword in ["oauth_issuer", "a_later_keyword"] {
                #expect(!Form(ofKeyword: keyword).contains("https://issuer.example"))
                #expect(!Form(ofKeyword: keyword).isClosed)
            }
        }

        /// A password of digits may stand where a port does.
        @Test func aPortIsNotShown() throws {
            for (text, shown) in [
                ("postgresql://tresor:12345/db", "postgresql://tresor/db"),
                ("postgresql://tresor@a:12345,b:54321/db?sslmode=require", "postgresql://tresor@a,b/db"),
                ("postgresql://[2001:db8::1]:12345/db", "postgresql://[2001:db8::1]/db"),
                ("postgresql://[2001:db8::1]/db", "postgresql://[2001:db8::1]/db"),
                ("postgresql:///db?port=12345", "postgresql:///db"),
                ("postgresql://host", "postgresql://host"),
            ] {
                let location = try #require(PostgresLocation(text))
                #expect(location.shown == shown)
                for words in [
                    "connection to server at \"tresor\" (192.0.2.1), port 12345 failed: Connection refused",
                    "connection to server on socket \"/run/.s.PGSQL.12345\" failed: No such file or directory",
                ] where text.contains("12345") {
                    let reason = location.reason(in: words)
                    #expect(reason.contains("failed: ") && !reason.contains("12345"))
                }
            }
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
