// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Real and hostile contents, byte for byte.
@Suite struct ContentTests {
    private static let vectors = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../../shared/vectors"
    ).standardizedFileURL

    static let files: [URL] = ["careplan", "json-hostile"].flatMap { folder in
        let root = vectors.appending(path: folder)
        let found =
            FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.allObjects as? [URL] ?? []
        return found.filter { !$0.hasDirectoryPath }.sorted { $0.path < $1.path }
    }

    @Test(.enabled(if: !files.isEmpty, "skipped: shared/vectors, not present"))
    func A101_everyContentComesBackByteForByte() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(try Name(typed: "plans")).tresor
        let type = try Name(typed: "application/fhir+json")
        #expect(Self.files.count >= 17)
        for file in Self.files {
            let content = Array(try Data(contentsOf: file))
            let record = try Name(typed: file.lastPathComponent)
            let sealed = try await anna.files.seal(content, record: record, type: type, in: tresor)
            let payload = 32 + 4 + 8 + 2 + type.bytes.count + 2 + record.bytes.count + 1 + content.count + 72
            #expect(sealed.bytes.count == FileHeader.byteCount + TC1.sealedByteCount(Self.padme(payload)))
            let opened = try await anna.files.open(try SealedFile(sealed.armoured))
            #expect(opened.content == content, "\(file.lastPathComponent)")
            #expect(opened.record == record)
        }
    }

    /// The bytes are not what a parser makes of them: two members of one name become one, spaces and the form of
    /// numbers go.
    @Test func A101_decodingAndEncodingChangesContents() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(try Name(typed: "plans")).tresor
        for text in [
            "{\"dose\": 1, \"dose\": 2}", "{\"Zo\u{eb}\":1,\"Zoe\u{308}\":2}", "[ 1.0 ]",

            "[1e400]", "{\"a\":1,}", "[\"\\ud800\"]",
        ] {
            let content = Array(text.utf8)
            let object = try? JSONSerialization.jsonObject(with: Data(content))
            let again = try object.map { try Array(JSONSerialization.data(withJSONObject: $0)) }
            #expect(again != content, "\(text)")
            #expect(try await anna.files.open(try await anna.seal(text, in: tresor)).content == content)
        }
    }

    /// Padmé by its definition, with logarithms counted by hand.
    private static func padme(_ count: Int) -> Int {
        let length = max(count, 512)
        var exponent = 0
        while length >> (exponent + 1) > 0 { exponent += 1 }
        var bits = 1
        while exponent >> bits > 0 { bits += 1 }
        let step = 1 << (exponent - bits)
        return (length + step - 1) / step * step
    }

    @Test func A9_sizesFollowPadme() {
        for count in 0...70_000 { #expect(Padding.paddedByteCount(count) == Self.padme(count)) }
        for shift in 17...40 {
            for offset in -2...2 {
                let count = (1 << shift) + offset
                #expect(Padding.paddedByteCount(count) == Self.padme(count))
            }
        }
    }

    @Test func A9_shortContentsHaveOneSize() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(try Name(typed: "plans")).tresor
        var sizes: Set<Int> = []
        for count in 0...(512 - 72 - 49) {
            let content = [UInt8](repeating: 0x41, count: count)
            let sealed = try await anna.files.seal(content, type: .empty, in: tresor)
            sizes.insert(sealed.bytes.count)
            #expect(try await anna.files.open(sealed).content == content)
        }
        #expect(sizes == [FileHeader.byteCount + 72 + 512])
    }

    @Test(arguments: [65535, 65536, 65537, 200_000]) func contentsOfSeveralChunks(count: Int) async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(try Name(typed: "plans")).tresor
        let content = try randomBytes(count)
        #expect(
            try await anna.files.open(try await anna.files.seal(content, type: .empty, in: tresor)).content == content)
    }
}
