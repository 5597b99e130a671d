// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TresorCommand
@testable import TresorConformance

/// Whatever binary object is opened, folded or verified: change a byte of it, and the test fails.
@Suite struct ByteTests {
    /// The objects of their own. Of a list each element is one.
    private static let objects: Set = [
        "sealed", "chain", "own chain", "entry", "log", "wrap", "file", "TK", "K", "S", "previous", "sealed name",
        "sealed names", "snapshot", "keys", "pk", "device share", "server share", "tresor", "A", "sig", "x", "pk",
        "object",
    ]

    /// The operations that read whole objects without proving the parts that they skip.
    private static let unproved: [String: Set<String>] = ["openNames": ["tresor"], "derive": ["K"], "hash": ["x"]]

    /// Of the first valid test of an operation many bytes are changed, most of them in the header and near the end; of
    /// the others a few. The long run changes more.
    private static func places(_ count: Int, isFirst: Bool) -> [Int] {
        let place = count.isMultiple(of: 2) ? count / 2 : count - 1
        var places: Set = LongRun.isOn ? [0, count / 3, count / 2, count - 17, count - 1] : [place]
        if isFirst {
            places.formUnion(0..<min(count, LongRun.isOn ? 160 : 16))
            places.formUnion(max(0, count - (LongRun.isOn ? 80 : 8))..<count)
            places.formUnion(stride(from: 0, to: count, by: max(1, count / (LongRun.isOn ? 24 : 4))))
        }
        return places.filter { (0..<count).contains($0) }.sorted()
    }

    @Test(
        arguments: ["encoding", "tc1", "identity", "slots", "log", "epoch", "wrap", "act", "file", "labels"])
    func everyChangedByteIsNoticed(_ name: String) async throws {
        let bytes = Array(try Data(contentsOf: Repository.root.appendingPathComponent("vectors/\(name).json")))
        var seen: Set<String> = []
        for test in try VectorSuite(bytes).cases where test.error == nil && test.operation != "foldCrowd" {
            for key in test.input.names where Self.objects.contains(key) {
                guard Self.unproved[test.operation]?.contains(key) != true else { continue }
                let isFirst = seen.insert("\(test.operation) \(key)").inserted
                for (object, replaced) in try Self.values(key, of: test.input) where !object.isEmpty {
                    for place in Self.places(object.count, isFirst: isFirst) {
                        var changed = object
                        changed[place] ^= place.isMultiple(of: 2) ? 0x04 : 0x80
                        let problem = await VectorCase(
                            id: test.id, operation: test.operation, input: replaced(changed), output: test.output,
                            error: nil
                        ).run()
                        #expect(problem != nil, "\(name) \(test.id), \(key), byte \(place)")
                    }
                }
            }
        }
        #expect(!seen.isEmpty)
    }

    /// Each object under a name, and how the input looks with another in its place.
    private static func values(
        _ key: String, of input: VectorFields
    ) throws -> [(bytes: [UInt8], replaced: ([UInt8]) -> VectorFields)] {
        guard let list = try? input.list(key) else {
            return [(try input.bytes(key), { VectorFields([key: $0]).inheriting(input) })]
        }
        return list.indices.map { index in
            (
                list[index],
                { changed in
                    var list = list
                    list[index] = changed
                    return input.with(key, list)
                }
            )
        }
    }
}
