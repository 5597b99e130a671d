// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What the built program consists of.
@Suite struct ProductTests {
    private static let canReadSymbols = has("nm") && has("readelf")

    private static func symbols(_ options: String...) throws -> [String] {
        try tool("/usr/bin/nm", options + [Program.path]).split(separator: "\n").map(String.init)
    }

    /// The switches by which a test leaves a check out are in no product. The build of the tests alone has them, which shows that this
    /// would find them.
    @Test(.enabled(if: canReadSymbols, "nm is not present")) func switchesOfTestsAreInNoProduct() throws {
        let symbols = try Self.symbols()
        #expect(symbols.count > 1000)
        let found = symbols.filter { $0.contains("Weakness") }
        #if TRESOR_TESTING
            #expect(!found.isEmpty)
        #else
            #expect(found == [])
        #endif
    }

    @Test func switchesOfTestsStandBehindTheirDefine() throws {
        for file in try Repository.files(of: "Sources", ending: ".swift") {
            var depth = 0
            for line in file.text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
                if line.hasPrefix("#if TRESOR_TESTING") {
                    depth += 1
                } else if line.hasPrefix("#if"), depth > 0 {
                    depth += 1
                }
                if line.hasPrefix("#endif"), depth > 0 { depth -= 1 }
                #expect(depth > 0 || !line.contains("Weakness"), "\(file.path): \(line)")
            }
        }
        let manifest = try Repository.text("Package.swift")
        #expect(!manifest.contains("TRESOR_TESTING"))
    }

    @Test(.enabled(if: canReadSymbols, "nm is not present")) func A8_noDecompressorIsLinked() throws {
        let libraries = try tool("/usr/bin/readelf", ["-d", Program.path]).split(separator: "\n")
            .filter { $0.contains("(NEEDED)") }
        #expect(libraries.count > 3)
        let compressors = ["libz.", "libbz2", "liblzma", "libzstd", "libbrotli", "liblz4", "libdeflate", "libarchive"]
        for library in libraries {
            #expect(!compressors.contains { library.contains($0) }, "\(library)")
        }
        let calls = ["inflate", "deflate", "uncompress", "compress2", "BZ2_", "lzma_", "ZSTD_", "Brotli", "LZ4_"]
        for symbol in try Self.symbols("-D", "--undefined-only") {
            let name = symbol.split(separator: " ").last.map(String.init) ?? ""
            #expect(!calls.contains { name.hasPrefix($0) }, "\(name)")
        }
    }
}
