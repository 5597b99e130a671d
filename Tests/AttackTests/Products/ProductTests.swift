// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The parts of the built program: the one that the other tests run, and the one of the release configuration if it has
/// been built.
@Suite struct ProductTests {
    static let canReadSymbols = has("nm") && has("readelf")

    static let products = {
        let release = URL(fileURLWithPath: Program.path).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "release/tresor").path(percentEncoded: false)
        return Set([Program.path, release]).filter { FileManager.default.isExecutableFile(atPath: $0) }.sorted()
    }()

    private static func symbols(of product: String, _ options: String...) throws -> [String] {
        try tool("/usr/bin/nm", options + [product]).split(separator: "\n").map(String.init)
    }

    /// The code that disables a check or counts events, in the copy that `scripts/attacks` builds.
    static let switches = ["Experiment", "isApplied"]

    /// How often each of them stands among the symbols of a product.
    static func switches(in product: String) throws -> [Int] {
        let symbols = try symbols(of: product)
        #expect(symbols.count > 1000)
        return switches.map { name in symbols.count { $0.contains(name) } }
    }

    /// The switches by which a test disables a check are in no product. `MutatedProductTests` shows that this would
    /// find them.
    @Test(.enabled(if: canReadSymbols, "nm is not present"), arguments: products)
    func switchesOfTestsAreInNoProduct(product: String) throws {
        #expect(try Self.switches(in: product).allSatisfy { $0 == 0 })
    }

    @Test func noSourceKnowsASwitchOfTests() throws {
        for ending in [".swift", ".c", ".h"] {
            for file in try Repository.files(of: "Sources", ending: ending) {
                for name in Self.switches + ["TRESOR_TESTING", "TRESOR_WITHOUT"] {
                    #expect(!file.text.contains(name), "\(file.path): \(name)")
                }
            }
        }
        #expect(!(try Repository.text("Package.swift")).contains("define("))
    }

    /// The code that runs the vectors is for reviewers.
    @Test(.enabled(if: canReadSymbols, "nm is not present")) func vectorsAreRunByNoProduct() throws {
        let symbols = try Self.symbols(of: Program.path)
        #expect(symbols.contains { $0.contains("13TresorCommand") })
        #expect(!symbols.contains { $0.contains("17TresorConformance") })
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

    /// The installed program binds every function at its start, and looks for no library beside itself.
    @Test(
        .enabled(if: canReadSymbols, "readelf is not present"), arguments: products.filter { $0.contains("/release/") })
    func aReleaseBindsAtStartAndLooksInNoOwnPlace(product: String) throws {
        let entries = try tool("/usr/bin/readelf", ["-d", product])
        #expect(entries.contains("BIND_NOW"))
        #expect(!entries.contains("RUNPATH") && !entries.contains("RPATH"))
    }

    /// Every build of a release says so: that of README, and that of the packages.
    @Test func everyReleaseIsBuiltSo() throws {
        for file in ["README.md", "debian/rules"] {
            let text = try Repository.text(file)
            for option in ["--static-swift-stdlib", "--disable-local-rpath", "-Xlinker -z -Xlinker now"] {
                #expect(text.contains(option), "\(file): \(option)")
            }
        }
    }
}
