// SPDX-License-Identifier: Apache-2.0

import Foundation

@main struct Generator {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 2, ["--write", "--check", "--write-nightly"].contains(arguments[0]) else {
            FileHandle.standardError.write(
                Data("usage: tresor-vectors --write DIR | --check DIR | --write-nightly DIR\n".utf8))
            exit(64)
        }
        guard arguments[0] != "--write-nightly" else { return try Library.nightly().write(to: arguments[1]) }
        let library = Library.make()
        if arguments[0] == "--write" {
            try library.write(to: arguments[1])
        } else {
            let differences = library.differences(from: arguments[1])
            for path in differences { FileHandle.standardError.write(Data("differs: \(path)\n".utf8)) }
            exit(differences.isEmpty ? 0 : 1)
        }
    }
}
