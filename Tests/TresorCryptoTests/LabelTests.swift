// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct LabelTests {
    @Test func A13_labelsAreUniqueASCIIAndPrefixFree() {
        let labels = DomainLabel.registry.map(\.label)
        #expect(Set(labels).count == labels.count)
        for label in labels {
            #expect(label.text.hasPrefix("tresor/v1/"))
            #expect(label.bytes.allSatisfy { (0x61...0x7a).contains($0) || [0x2d, 0x2f, 0x31].contains($0) })
            for other in labels where other != label {
                #expect(!other.bytes.starts(with: label.bytes), "\(label.text) begins \(other.text)")
            }
        }
    }

    /// Every declared label is registered, and none is written anywhere else. Only the vector generator, a package of
    /// its own, spells the labels out, so that it does not check the registry by itself. The context of a log-in is no label
    /// (SPEC §16.1).
    @Test func A13_registryIsWhatTheCodeDeclares() throws {
        var declared: [String] = []
        for (path, text) in try SourceCode.files(of: "Sources") {
            for line in text.split(separator: "\n") where !line.contains("//") {
                for part in line.components(quoted: "tresor/v1/") where part != "tresor/v1/opaque" {
                    #expect(path == "TresorCrypto/DomainLabel.swift", "\(part) in \(path)")
                    declared.append(part)
                }
            }
        }
        #expect(declared.sorted() == DomainLabel.registry.map(\.label.text).sorted())
    }

    @Test(arguments: ["a", "app/x", "tresor", "Tresor/x", "tresorx/y", String(repeating: "x", count: 255)])
    func applicationsMayNameTheirOwn(name: String) throws {
        #expect(try DomainLabel(application: name).text == name)
    }

    @Test(arguments: [
        "", "tresor/", "tresor/v1/file-seal", "tresor/mine", "with space", "new\nline", "ümlaut", "nul\0", "\u{7f}",
        String(repeating: "x", count: 256),
    ])
    func A13_applicationsCannotNameOurs(name: String) {
        #expect(throws: TresorError.usage(.domainLabel)) { try DomainLabel(application: name) }
    }
}

extension Substring {
    /// The quoted strings that begin with `prefix`.
    fileprivate func components(quoted prefix: String) -> [String] {
        split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 && $0.element.hasPrefix(prefix) }
            .map { String($0.element) }
    }
}
