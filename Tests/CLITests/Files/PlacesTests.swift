// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

@testable import TresorCommand

@Suite("Places")
struct PlacesTests {
    private func places(_ options: [String] = [], _ environment: Environment) throws -> Paths {
        try Paths(options: try GlobalOptions.parse(options), environment: environment)
    }

    @Test("The option comes before the variable, the variable before XDG, XDG before the user's directory")
    func home() throws {
        var environment = Environment()
        environment.userHome = "/u"
        #expect(try places([], environment).data == "/u/.local/share/tresor")
        #expect(try places([], environment).state == "/u/.local/state/tresor")
        environment.dataHome = "/d"
        environment.stateHome = "/s/"
        #expect(try places([], environment).data == "/d/tresor")
        #expect(try places([], environment).state == "/s/tresor")
        environment.home = "/h"
        #expect(try places([], environment).data == "/h")
        #expect(try places([], environment).state == "/h/state")
        #expect(try places(["--home", "o"], environment).data == "o")
        #expect(try places(["--home", "o"], environment).state == "o/state")
    }

    @Test("Relative XDG paths are refused unless they are not needed, and no place at all is an error")
    func relative() throws {
        var environment = Environment()
        environment.userHome = "/u"
        environment.dataHome = "d"
        #expect(throws: CommandFailure.self) { try places([], environment) }
        #expect(try places(["--home", "o"], environment).data == "o")
        (environment.dataHome, environment.stateHome) = ("/d", "s")
        #expect(throws: CommandFailure.self) { try places([], environment) }
        (environment.dataHome, environment.stateHome, environment.userHome) = (nil, nil, "u")
        #expect(throws: CommandFailure.self) { try places([], environment) }
    }

    @Test("The store: option, variable, what keygen noted, the one in the home")
    func store() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        #expect(try places([], environment).store() == scratch.path("store.db"))
        try places(["--store", "/srv/clinic.db"], environment).noteStore()
        #expect(scratch.mode("store") == 0o600)
        #expect(try places([], environment).store() == "/srv/clinic.db")
        environment.store = "e.db"
        #expect(try places([], environment).store() == "e.db")
        #expect(try places(["--store", "o.db"], environment).store() == "o.db")
    }

    @Test(
        "An address without its scheme, or with blanks, makes no file",
        arguments: [
            "tresor.clinic.example", "tresor.clinic.example:8443", "localhost:8443", "ftp://clinic.example",
            " https://a", "https://a ", "store.db\n", "Clinic.Example", "localhost", "127.0.0.1", "[::1]:8443",
            "clinic.example.", "https:clinic.example", "https:/clinic.example", "clinic", "postgresql:clinic.db",
        ])
    func mistypedAddress(_ text: String) throws {
        var environment = Environment()
        environment.home = "/h"
        let failure = #expect(throws: CommandFailure.self) { try places(["--store", text], environment).store() }
        #expect(failure?.error == .usage)
        environment.store = text
        #expect(throws: CommandFailure.self) { try places([], environment).store() }
    }

    @Test("A scheme counts in any case", arguments: ["HTTPS://Clinic.example", "Https://clinic.example/"])
    func scheme(_ text: String) throws {
        var environment = Environment()
        environment.home = "/h"
        #expect(try places(["--store", text], environment).store() == "https://clinic.example")
    }

    @Test(
        "A file is one by its ending, its path, or because it is there",
        arguments: ["clinic.db", "Clinic.SQLITE3", "./clinic.example", "../clinic", "a/clinic", "/clinic:1"])
    func fileNames(_ text: String) throws {
        var environment = Environment()
        environment.home = "/h"
        #expect(try places(["--store", text], environment).store() == text)
    }

    @Test(
        "The way out of a mistyped address names it",
        arguments: [
            ("localhost", ["https://localhost", "./localhost"]), ("ftp://a", ["https://HOST:PORT"]),
            ("[::1]:8443", ["https://[::1]:8443", "./[::1]:8443"]),
        ])
    func waysOut(_ text: String, _ places: [String]) throws {
        var environment = Environment()
        environment.home = "/h"
        let failure = #expect(throws: CommandFailure.self) {
            try self.places(["--store", text], environment).store()
        }
        #expect(failure?.hints == places.map { "tresor … {--store} --store \(Shell.path($0))" })
    }

    @Test("Only a note of a store is taken back")
    func forgetting() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        let places = try self.places(["--store", "/srv/clinic.db"], environment)
        try places.noteStore()
        places.forgetStore()
        #expect(!FileManager.default.fileExists(atPath: scratch.path("store")))
        try Data("milk\n".utf8).write(to: scratch.url.appending(path: "store"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: scratch.path("store"))
        places.forgetStore()
        #expect(try scratch.text("store") == "milk\n")
    }

    @Test("A hint to another service names the authority, and none leads to a former address of the one in use")
    func hintsToStores() throws {
        let scratch = try Scratch()
        let options = try GlobalOptions.parse([
            "--home", scratch.path("home"), "--store", "https://new.example", "--store-ca", "/etc/ca.pem",
        ])
        let context = try Surroundings.$current.withValue(Surroundings()) { try CommandContext.local(options) }
        let old = try #require(StoreName(Array("https://old.example".utf8)))
        let file = try #require(StoreName(Array("/srv/clinic.db".utf8)))
        let other = context.tresors.hint(to: old)
        #expect(other == "tresor … {--store} {--store-ca} --store https://old.example --store-ca /etc/ca.pem")
        #expect(
            context.tresors.hint(to: file)
                == "tresor … {--store} {--store-ca} {--store-proxy} --store /srv/clinic.db")
        for address in ["https://old.example", "https://new.example"] {
            try KnownServices.meet(.zero, at: ServiceAddress(address).audience.hash(), in: context.client.home)
        }
        #expect(context.tresors.hint(to: old) == nil)
    }

    @Test("A command for another service names the authority once, and none where the home notes the way there")
    func commandsForOtherServices() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        let noted = ["--store", "https://noted.example", "--store-ca", "/etc/noted.pem"]
        try places(noted, environment).noteStore()
        let given = ["--store", "https://a.example", "--store-ca", "/etc/ca.pem"]
        let places = try self.places(given, environment)
        Surroundings.$current.withValue(Surroundings()) {
            HintCompletion.remember(["passwd", "--home", "h"] + given, valued: ["--home", "--store", "--store-ca"])
            #expect(
                HintCompletion.complete("tresor passwd \(places.options(to: "https://b.example"))")
                    == "tresor --home h passwd --store https://b.example --store-ca /etc/ca.pem")
            #expect(
                HintCompletion.complete("tresor passwd \(places.options(to: "https://noted.example"))")
                    == "tresor --home h passwd --store https://noted.example")
        }
        // The authority of the noted service need not vouch for another one.
        #expect(try self.places([], environment).options(to: "https://b.example") == "--store https://b.example")
    }

    @Test("A command for a file names no proxy, and one for a service keeps it")
    func commandsPastAProxy() {
        Surroundings.$current.withValue(Surroundings()) {
            let given = ["--store", "https://a.example", "--store-proxy", "p:1"]
            HintCompletion.remember(["check"] + given, valued: ["--store", "--store-proxy"])
            #expect(HintCompletion.complete("tresor check --store /srv/b.db") == "tresor check --store /srv/b.db")
            for address in ["https://b.example", "'https://[::1]:8443'"] {
                let command = "tresor check --store \(address)"
                #expect(HintCompletion.complete(command) == "tresor --store-proxy p:1 check --store \(address)")
            }
            #expect(
                HintCompletion.complete("tresor … {--store} {--store-ca} {--store-proxy} --store /srv/b.db")
                    == "tresor check --store /srv/b.db")
        }
    }

    @Test("A service that claims the id of another one hides it only where the home notes the first")
    func claimedServices() throws {
        let scratch = try Scratch()
        let options = try GlobalOptions.parse(["--home", scratch.path("home"), "--store", "https://claims.example"])
        let context = try Surroundings.$current.withValue(Surroundings()) { try CommandContext.local(options) }
        let honest = try #require(StoreName(Array("https://honest.example".utf8)))
        let claiming = try #require(StoreName(Array("https://claims.example".utf8)))
        var stores = NotedStores()
        for name in [honest, claiming] {
            _ = stores.note(name, of: TresorID(.zero))
            let address = try ServiceAddress(String(decoding: name.bytes, as: UTF8.self))
            try KnownServices.meet(.zero, at: address.audience.hash(), in: context.client.home)
        }
        try context.client.home.replace(.notedStores, with: stores.bytes)
        let command = "tresor register --no-login --store https://honest.example"
        #expect(OtherServices(context).command(forKeysAt: honest) == command)
        #expect(OtherServices(context).command(forKeysAt: claiming) == nil)
        // A person has the new address of a service that moved from its operator.
        try FileManager.default.createDirectory(
            atPath: scratch.path("home"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try context.invocation.places.noteStore()
        #expect(OtherServices(context).command(forKeysAt: honest) == nil)
        stores.rename(honest, to: claiming)
        #expect(stores.all == [claiming])
    }

    @Test("A service is noted with its way, and reached by it until another way is given")
    func service() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        let given = ["--store", "https://A.example/", "--store-ca", "/ca", "--store-proxy", "p:1"]
        try places(given, environment).noteStore()
        #expect(try scratch.text("store") == "https://a.example\nca /ca\nproxy p:1\n")
        #expect(try places([], environment).store() == "https://a.example")
        let noted = try places([], environment).service()
        #expect(try places(["--store", "https://a.example"], environment).service() == noted)
        #expect(try places(["--store-ca", "/cb"], environment).service()?.certificates == "/cb")
        #expect(try places(["--store", "https://b.example"], environment).service()?.certificates == nil)
        #expect(try places(["--store", "o.db"], environment).service() == nil)
        #expect(throws: CommandFailure.self) {
            try places(["--store", "o.db", "--store-ca", "/ca"], environment).store()
        }
        #expect(throws: CommandFailure.self) { try places(["--store", "http://a.example"], environment).store() }
    }

    @Test("A slash is one whatever mark stands behind it")
    func marks() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.dataHome = "/\u{301}d"
        environment.stateHome = "/s"
        #expect(try places([], environment).data == "/\u{301}d/tresor")
        #expect(Paths.absolute("/\u{301}d") == "/\u{301}d")
        environment.home = scratch.url.path
        try FileManager.default.createDirectory(atPath: scratch.path("state"), withIntermediateDirectories: false)
        let own = OwnFiles(try places([], environment), passwords: [])
        #expect(own.contains(scratch.path("state") + "/\u{301}x"))
    }

    @Test("A noted path is made absolute")
    func absolute() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        try places(["--store", "clinic.db"], environment).noteStore()
        #expect(try scratch.text("store") == FileManager.default.currentDirectoryPath + "/clinic.db\n")
    }

    @Test(
        "A note that others can write, or that names no path, is refused",
        arguments: [("/a\n", 0o644), ("a\n", 0o600), ("", 0o600)])
    func note(_ text: String, _ mode: Int) throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        try scratch.write(text, "store", mode: mode_t(mode))
        #expect(throws: CommandFailure.self) { try places([], environment).store() }
    }

    @Test("An identity that does not read may be that of a person with a log-in, which no hint may lose")
    func unreadableIdentity() throws {
        let scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        let places = try places(["--store", "https://clinic.example"], environment)
        #expect(!ServiceLogin.mayBeLost(in: places))
        try DirectoryHome(data: places.data, state: places.state).replace(.identity, with: [1, 2, 3])
        #expect(ServiceLogin.mayBeLost(in: places))
    }
}
