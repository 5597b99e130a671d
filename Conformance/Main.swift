// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program `tresor-selftest`: it runs the vectors of the specification, and those that others have published.
@main
enum Main {
    private static let usage = "usage: tresor-selftest [--vectors DIR] [--external DIR] [--nightly]"

    static func main() async {
        guard let selftest = Self.selftest(CommandLine.arguments.dropFirst()) else { end(64, usage) }
        do {
            let report = try await selftest.run { print($0) }
            exit(report.isSuccess ? 0 : 1)
        } catch let problem as VectorProblem {
            end(1, "tresor-selftest: \(problem.text)\n\(usage)")
        } catch {
            end(1, "tresor-selftest: \(error)")
        }
    }

    /// The run that the words ask for; `nil` if they are not those of the usage.
    static func selftest(_ words: ArraySlice<String>) -> Selftest? {
        var (vectors, external, isNightly): (String, String?, Bool) = ("vectors", nil, false)
        var words = words
        while let word = words.popFirst() {
            switch word {
            case "--nightly": isNightly = true
            case "--vectors", "--external":
                guard let directory = words.popFirst() else { return nil }
                if word == "--vectors" { vectors = directory } else { external = directory }
            default: return nil
            }
        }
        return Selftest(vectors: vectors, external: external, isNightly: isNightly)
    }

    private static func end(_ code: Int32, _ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(code)
    }
}
