// SPDX-License-Identifier: Apache-2.0

import Foundation
import TresorCrypto
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Two people with homes on disk and one store file, in this process: anna's tresor, which house reads.
final class Circle: Sendable {
    let scratch: Scratch
    let store: SQLiteStore
    let anna: Session
    let house: Session
    let tresor: TresorID

    static func make() async throws -> Circle {
        let scratch = try Scratch()
        let store = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
        let anna = try await person("anna", scratch, store)
        let house = try await person("house", scratch, store)
        try anna.client.people.pinBlocking(house.identity.chain)
        try house.client.people.pinBlocking(anna.identity.chain)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let act = Act.share(with: [house.identity.chain], role: .reader, fromNow: false, notAfter: nil)
        try await anna.tresors.perform(act, on: tresor)
        return Circle(scratch: scratch, store: store, anna: anna, house: house, tresor: tresor)
    }

    private init(scratch: Scratch, store: SQLiteStore, anna: Session, house: Session, tresor: TresorID) {
        self.scratch = scratch
        self.store = store
        self.anna = anna
        self.house = house
        self.tresor = tresor
    }

    static func client(_ handle: String, _ scratch: Scratch, _ store: any Store) -> Client {
        let home = DirectoryHome(data: scratch[handle], state: scratch["\(handle)-state"])
        return Client(home: home, store: store) { 1_777_730_400 }
    }

    /// Whose identity file has a kit alone: made without Argon2id.
    static func person(_ handle: String, _ scratch: Scratch, _ store: any Store) async throws -> Session {
        let identity = try Identity.make(handle: Name(typed: handle), time: 1_777_730_400)
        let kit = try RecoveryKit()
        let key = try kit.slotKey()
        let locator = try kit.locator()
        let slot = try identity.seal(under: key, id: .random(), kind: .kit(locator: locator), since: 1_777_730_400)
        let client = client(handle, scratch, store)
        try client.home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
        try await client.people.publishCard()
        return Session(client: client, identity: identity)
    }

    func seal(_ content: [UInt8]) async throws -> SealedFile {
        try await anna.files.seal(
            content, record: Name(text: "plan.json"), type: Name(text: "application/json"), in: tresor)
    }

    /// A person's home, byte for byte, without evidence.
    func home(of handle: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: scratch[handle])
        return names.filter { !$0.hasPrefix("evidence") && !$0.hasSuffix("lock") }
            .reduce(into: [:]) { $0[$1] = bytes(at: scratch["\(handle)/\($1)"]) }
    }
}
