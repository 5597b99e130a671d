// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What the built program consists of: the one that the other tests run, and the one of the release configuration where it has been built.
@Suite struct ProductTests {
    private static let canReadSymbols = has("nm") && has("readelf")

    private static let products = {
        let release = URL(fileURLWithPath: Program.path).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "release/tresor").path(percentEncoded: false)
        return Set([Program.path, release]).filter { FileManager.default.isExecutableFile(atPath: $0) }.sorted()
    }()

    private static func symbols(of product: String, _ options: String...) throws -> [String] {
        try tool("/usr/bin/nm", options + [product]).split(separator: "\n").map(String.init)
    }

    /// What leaves a check out or counts what happens. The names of the checks themselves are in every product, and do nothing there.
    private static let testing = ["Experiment", "isLeftOut", "leftOut"]

    /// The switches by which a test leaves a check out, and the counters, are in no product. The build of the tests alone has them, which
    /// shows that this would find them.
    @Test(.enabled(if: canReadSymbols, "nm is not present"), arguments: products)
    func switchesOfTestsAreInNoProduct(product: String) throws {
        let symbols = try Self.symbols(of: product)
        #expect(symbols.count > 1000)
        for name in Self.testing {
            let found = symbols.filter { $0.contains(name) }
            #if TRESOR_TESTING
                #expect(!found.isEmpty, "\(name)")
            #else
                #expect(found == [], "\(name)")
            #endif
        }
    }

    @Test func switchesOfTestsStandBehindTheirDefine() throws {
        // The generator of vectors is no product.
        for file in try Repository.files(of: "Sources", ending: ".swift") where !file.path.contains("/TresorVectors/") {
            // Of each condition around a line, whether it is the tests' own build.
            var conditions: [Bool] = []
            for line in file.text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
                if line.hasPrefix("#if") { conditions.append(line.hasPrefix("#if TRESOR_TESTING")) }
                if line.hasPrefix("#else"), !conditions.isEmpty { conditions[conditions.count - 1] = false }
                if line.hasPrefix("#endif") { conditions.removeLast() }
                let isTesting = Self.testing.contains { line.contains($0) }
                #expect(conditions.contains(true) || !isTesting, "\(file.path): \(line)")
            }
        }
        let manifest = try Repository.text("Package.swift")
        #expect(!manifest.contains("TRESOR_TESTING") && !manifest.contains("TRESOR_WITHOUT"))
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
        for symbol in try Self.symbols(of: Program.path, "-D", "--undefined-only") {
            let name = symbol.split(separator: " ").last.map(String.init) ?? ""
            #expect(!calls.contains { name.hasPrefix($0) }, "\(name)")
        }
    }

    /// Functions of compressors that a program has, whether it loads them or was linked with them.
    private static func compressors(in product: String) throws -> [String] {
        let calls = [
            "inflate", "deflate", "uncompress", "compress2", "BZ2_", "lzma_", "ZSTD_", "BrotliDecoder", "BrotliEncoder",
            "LZ4_", "lzfse_",
            "mz_inflate", "libdeflate_",
        ]
        return try symbols(of: product).compactMap { $0.split(separator: " ").last.map(String.init) }
            .filter { name in calls.contains { name.hasPrefix($0) } }
    }

    @Test(.enabled(if: canReadSymbols, "nm is not present"), arguments: products)
    func A8_noCompressorIsLinkedStatically(product: String) throws {
        #expect(try Self.compressors(in: product) == [])
    }

    #if os(Linux)
        @Test(.enabled(if: canReadSymbols && Compiler.path != nil, "nm or a C compiler is not present"))
        func A8_theSearchFindsACompressorThatIsLinkedStatically() throws {
            let scratch = try Scratch()
            let source =
                "static int inflateInit2_(int a) { return a; }\nint main(int n, char **w) { return inflateInit2_(n); }\n"
            try source.write(toFile: scratch["main.c"], atomically: false, encoding: .utf8)
            let program = try Compiler.compile(["-O0", scratch["main.c"]], to: scratch["main"])
            #expect(try Self.compressors(in: program) == ["inflateInit2_"])
        }
    #endif

    /// What is installed binds every function when it starts, and looks for no library beside itself.
    @Test(
        .enabled(if: canReadSymbols, "readelf is not present"), arguments: products.filter { $0.contains("/release/") })
    func aReleaseBindsAtStartAndLooksInNoOwnPlace(product: String) throws {
        let entries = try tool("/usr/bin/readelf", ["-d", product])
        #expect(entries.contains("BIND_NOW"))
        #expect(!entries.contains("RUNPATH") && !entries.contains("RPATH"))
    }

    /// Every build of a release in README and scripts says so.
    @Test func everyReleaseIsBuiltSo() throws {
        for file in ["README.md", "scripts/reproduce"] {
            let text = try Repository.text(file)
            for option in ["--static-swift-stdlib", "--disable-local-rpath", "-Xlinker -z -Xlinker now"] {
                #expect(text.contains(option), "\(file): \(option)")
            }
        }
    }
}
