// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The library beside the program: the abilities of an accomplice with a person's password.
extension Stage {
    func session(of person: String) async throws -> Session {
        let home = scratch["homes/\(person)"]
        let password = try Password(typed: SecretBytes(copying: Array("PASSWORD-0815-\(person)".utf8).span))
        let identity = try IdentityFile(bytes(at: "\(home)/identity")).open(withPassword: password)
        let store = try await SQLiteStore.open(at: store, creating: false)
        let client = Client(home: DirectoryHome(data: home, state: "\(home)/state"), store: store) { 2_000_000_000 }
        return Session(client: client, identity: identity)
    }

    /// Opens the seal of a file with the keys of a reader, edits the payload and seals it again.
    func reseal(_ file: String, as other: String, by person: String, edit: (inout [UInt8]) -> Void) async throws {
        let session = try await session(of: person)
        let sealed = try SealedFile(self[file])
        let state = try await session.client.logs.state(of: sealed.header.tresor, remembering: .no)
        let keys = try await session.keyRing.keys(of: sealed.header.epoch, in: state)
        let header = sealed.header.bytes
        let body = sealed.bytes.span.extracting(header.count..<sealed.bytes.count)
        var payload = try TC1.open(body, with: keys.content, label: .fileSeal, context: header.span)
        edit(&payload)
        let forged = try TC1.seal(payload.span, with: keys.content, label: .fileSeal, context: header.span)
        try write(header + forged, to: other)
    }

    /// A file sealed and signed by any holder of the keys, whether or not the log permits it.
    func seal(_ content: [UInt8], as file: String, by person: String) async throws {
        let session = try await session(of: person)
        let known = try #require(session.client.logs.knownBlocking().first)
        let state = try await session.client.logs.state(of: known, remembering: .no)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        let sealed = try FileSealer.sealFile(
            content, type: Name(text: "application/json"), record: Name(text: "plan.json"), keys: keys, state: state,
            author: session.identity, time: 1_777_730_400)
        try write(sealed.bytes, to: file)
    }
}
