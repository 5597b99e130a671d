// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import tresor_vectors

/// Vectors that others have published, where they are present.
@Suite struct PublishedTests {
    private static let directory = Repository.root.deletingLastPathComponent().appendingPathComponent("shared/vectors")
    static let isPresent = FileManager.default.fileExists(atPath: directory.path)

    private static func json(_ path: String) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(contentsOf: directory.appendingPathComponent(path)))
    }

    /// The other direction of X-Wing, which needs the encapsulation's randomness and is therefore the generator's
    /// alone.
    @Test(.enabled(if: isPresent, "published vectors are not present")) func encapsulations() throws {
        let cases = try #require(try Self.json("crypto/xwing/test-vectors.json") as? [[String: String]])
        #expect(cases.count == 3)
        for test in cases {
            func bytes(_ name: String) -> Bytes { hexBytes(test[name] ?? "") }
            let wrapping = HPKEWrapping(bytes("pk"), info: [], plaintext: [], eseed: bytes("eseed"))
            #expect(wrapping.enc == bytes("ct"))
            #expect(wrapping.sharedSecret == bytes("ss"))
        }
    }

    /// The ML-KEM half of an encapsulation is that of FIPS 203 with the given message.
    @Test(.enabled(if: isPresent, "published vectors are not present")) func mlkemEncapsulations() throws {
        let root = try #require(try Self.json("crypto/wycheproof/mlkem_768_encaps_test.json") as? [String: Any])
        let groups = try #require(root["testGroups"] as? [[String: Any]])
        let valid = groups.flatMap { $0["tests"] as? [[String: Any]] ?? [] }.filter {
            $0["result"] as? String == "valid"
        }
        #expect(valid.count == 133)
        let basePoint: Bytes = [9] + zeros(31)
        for test in valid {
            func bytes(_ name: String) -> Bytes { hexBytes(test[name] as? String ?? "") }
            let wrapping = HPKEWrapping(bytes("ek") + basePoint, info: [], plaintext: [], eseed: bytes("m") + basePoint)
            #expect(wrapping.enc.at(0, 1088) == bytes("c"))
        }
    }
}
