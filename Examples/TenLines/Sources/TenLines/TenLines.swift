// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tresor
import TresorStore

@main struct TenLines {
    static func main() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let password = Array("correct horse battery staple".utf8)
        let plan = Array(#"{"resourceType":"CarePlan"}"#.utf8)

        let home = DirectoryHome(data: place, state: place + "/state")
        let client = Client(home: home, store: MemoryStore(), clock: { UInt64(Date().timeIntervalSince1970) })
        let secret = try Password(typed: SecretBytes(copying: password.span))
        let anna = try await client.makeIdentity(handle: Name(typed: "anna"), password: secret)
        try await client.people.publishCard()
        let tresor = try await anna.tresors.create(Name(typed: "interventions")).tresor
        let sealed = try await anna.files.seal(plan, type: Name(typed: "application/json"), in: tresor)
        let opened = try await anna.files.open(sealed)
        print(opened.author.handle.text, opened.author.status == .current, opened.content == plan)
        try FileManager.default.removeItem(atPath: place)
    }
}
