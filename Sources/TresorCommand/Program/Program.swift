// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// From arguments to exit code.
enum Program {
    /// The product's version; the specification's and the suite's stand beside it in `tresor --version`.
    static let version = "0.1.0"
    static let specification = "0.9.3"
    static let suite = 1

    static func run() async -> Int32 { await run(ArgumentList.current) }

    /// - Parameter given: the words behind the program's name.
    static func run(_ given: () throws(CommandFailure) -> [String]) async -> Int32 {
        var json = false
        // The look holds the store, which closes when nothing does.
        defer { Surroundings.current.storeDoubt.forget() }
        defer { Surroundings.current.leftBehind.tell() }
        do {
            let words = try given()
            let arguments = ArgumentList(words)
            json = arguments.wantsJSON
            Interrupts.reportsJSON(json)
            try KitGuard().check(words)
            let command = arguments.command.flatMap(RootCommand.command(named:))
            HintCompletion.remember(
                arguments.words, valued: command.map(DeclaredOptions.valuedOptions(of:)) ?? GlobalOptions.valued)
            try Environment.refusePassword()
            try await run(arguments)
            Surroundings.current.keys.tell()
            return 0
        } catch let exit as Exit {
            Surroundings.current.keys.tell()
            await Surroundings.current.storeDoubt.tell(after: exit.code)
            return exit.code
        } catch {
            let failure = await Surroundings.current.storeDoubt.explaining(CommandFailure(error))
            FailureReport(json: json).print(failure)
            return failure.exitCode
        }
    }

    private static func run(_ arguments: ArgumentList) async throws {
        guard let word = arguments.command else { return try runWithoutCommand(arguments) }
        guard let command = RootCommand.command(named: word) else { throw Surface.unknown(word) }
        guard !arguments.wantsHelp else {
            return try Channel.output.write(CommandPage.text(of: command))
        }
        try await parse(arguments, for: command).perform()
    }

    static func parse(
        _ arguments: ArgumentList, for type: any SurfaceCommand.Type
    ) throws -> any SurfaceCommand {
        try DeclaredOptions.refuseRepeated(arguments.options, for: type)
        do {
            let (words, operands) = type.takesInputs ? arguments.withOperandsApart : (arguments.rest, [])
            return try type.parsed(words, operands)
        } catch {
            if type.exitCode(for: error) == .success {
                try Channel.output.write(type.fullMessage(for: error) + "\n")
                throw Exit(code: 0)
            }
            // The parser names what is missing before what it does not know.
            if let unknown = DeclaredOptions.unknown(in: arguments.options, of: type) { throw unknown }
            throw CommandFailure(parser: error, command: type)
        }
    }

    private static func runWithoutCommand(_ arguments: ArgumentList) throws {
        guard !arguments.options.contains("--experimental-dump-help") else {
            return try Channel.output.write(RootCommand._dumpHelp() + "\n")
        }
        guard !arguments.options.contains("--version") else {
            return try Channel.output.write("tresor \(version) (specification \(specification), suite \(suite))\n")
        }
        let unknown = arguments.rest.first { $0.hasPrefix("-") && GlobalOptions.length(of: $0) == nil }
        guard unknown == nil || arguments.wantsHelp else {
            throw CommandFailure.usage(
                "there is no option \(DisplayText.quoted(unknown ?? "")) before a command",
                hints: ["tresor help options"])
        }
        try Channel.output.write(Surface.text())
    }
}
