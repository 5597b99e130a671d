// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A whole sealed file after lines that state its expected result.
struct TestkitFile {
    private let lines: [String: String]
    private let file: [UInt8]

    init(_ bytes: [UInt8]) throws(VectorProblem) {
        var lines: [String: String] = [:]
        var start = 0
        while let end = bytes[start...].firstIndex(of: 0x0a) {
            if end == start {
                self.lines = lines
                file = Array(bytes[(end + 1)...])
                return
            }
            let line = String(decoding: bytes[start..<end], as: UTF8.self)
            guard let colon = line.range(of: ": ") else { break }
            lines[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
            start = end + 1
        }
        throw VectorProblem("not a test kit file")
    }

    /// Returns `nil` or the fault.
    func run(_ name: String) -> String? {
        let expected = lines["expect"]
        do {
            let content = try open()
            guard expected == "ok" else { return "\(name) was opened" }
            return content == lines["content"] ? nil : "\(name) gives another content"
        } catch let error as TresorError {
            return error.name == expected && lines["content"] == "none" ? nil : "\(name) was refused with \(error.name)"
        } catch {
            return "\(name) is not a test kit file"
        }
    }

    private func bytes(_ name: String) throws(VectorProblem) -> [UInt8] {
        guard let bytes = lines[name].flatMap(Hex.bytes) else { throw VectorProblem("there is no \(name)") }
        return bytes
    }

    private func open() throws -> String {
        guard let digest = Hash256(try bytes("tresor")) else { throw VectorProblem("no tresor") }
        let state = try Conformance.state(ofLogCopy: bytes("log"), tresor: TresorID(digest))
        let opened = try Conformance.openFile(file, contentKey: bytes("key"), in: state)
        if lines["record"] != nil {
            guard opened.record.bytes == (try bytes("record")) else { throw TresorError.altered }
        }
        if lines["from"] != nil {
            guard opened.author.user.digest.bytes == (try bytes("from")) else { throw TresorError.altered }
        }
        var hash = try BLAKE2b(outputCount: 32)
        try hash.update(opened.content.span)
        return Hex.text(try hash.finalize())
    }
}

extension String {
    /// The first place of a part.
    fileprivate func range(of part: String) -> Range<Index>? { ranges(of: part).first }
}
