// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs a script in a fresh directory and throws at the first line that is not so.
final class ScriptRunner {
    let script: Script
    let work: URL
    var variables: [String: String]
    /// The environment besides `PATH`, `HOME` and the like.
    var environment: [String: String]
    var last: ChildProcess.Result?
    /// The commands and their output so far.
    var log = ""

    private var standardInput: String?
    private var dialogue: [PseudoTerminal.Line]?
    private var isOnScreen = false
    /// The action of another person while the next question waits for its answer.
    private var meanwhile: (() throws -> Void)?
    /// The changes of the next runs: the clock stays wrong, the rest is for one run.
    var intruder = Intruder()
    /// The process that holds a lock while it lives.
    var locked: AnyObject?
    /// Whether the next run is only prepared, to begin beside the one after it.
    var isBeside = false
    /// The program that begins beside the next run, or has begun.
    var companion: Companion?
    /// The service that people of the script use, if one runs.
    var service: Service?
    /// Somebody between the people and the service.
    var relay: CuttingRelay?

    init(_ script: Script) throws {
        self.script = script
        work = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-\(script.name)-\(UUID())")
        try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
        let soon = Date().addingTimeInterval(30 * 86_400).ISO8601Format().prefix(10)
        variables = ["WORK": work.path, "SOON": String(soon)]
        environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": work.path, "TERM": "xterm", "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
        ]
    }

    deinit {
        for folder in [work, work.appendingPathExtension("before"), work.appendingPathExtension("after")] {
            try? FileManager.default.removeItem(at: folder)
        }
    }

    func run() throws {
        for file in script.files { try write(Data(file.content.utf8), to: file.name) }
        if let place = script.commands.firstIndex(where: \.isStop) {
            try run(script.commands[..<place])
            try stopEverywhere(script.commands[place...])
        } else {
            try run(script.commands[...])
        }
        try checkNothingPends()
    }

    func run(_ commands: ArraySlice<Script.Command>) throws {
        for command in commands {
            do {
                log += "> \(command.text)\n"
                var scanner = WordScanner(command.text, variables: variables)
                try execute(scanner.words())
            } catch {
                throw ScriptFailure("\(script.name).txt:\(command.line): \(command.text): \(error)\n\(log)")
            }
        }
    }

    private func execute(_ words: [String]) throws {
        let isNegated = words.first == "!"
        let words = isNegated ? Array(words.dropFirst()) : words
        guard let verb = words.first else { throw ScriptFailure("there is no verb") }
        let operands = Array(words.dropFirst())
        if try runProgram(verb, operands, isNegated: isNegated) { return }
        if try operate(verb, operands, isNegated: isNegated) { return }
        if try judgeRun(verb, operands, isNegated: isNegated) { return }
        if try judgeFile(verb, operands, isNegated: isNegated) { return }
        guard !isNegated else { throw ScriptFailure("there is no verb ! \(verb)") }
        if try prepareRun(verb, operands) { return }
        if try arrange(verb, operands) { return }
        if try attack(verb, operands) { return }
        throw ScriptFailure("there is no verb \(verb)")
    }

    private func runProgram(_ verb: String, _ operands: [String], isNegated: Bool) throws -> Bool {
        switch verb {
        case "tresor":
            let isKilled = intruder.stop != nil
            let input = standardInput
            let before = isNegated && !isKilled ? try copyForHints() : nil
            let result = try runTresor(operands)
            if isKilled, isNegated, result.code == Intruder.killed { return true }
            guard result.code >= 0 else { throw ScriptFailure("the program was ended by signal \(-result.code)") }
            guard (result.code == 0) != isNegated else { throw ScriptFailure("the exit code is \(result.code)") }
            try runHints(after: operands, input: input, from: before)
        case "example" where !isNegated:
            guard operands.count % 2 == 1 else { throw ScriptFailure("example takes a line, and pairs of words") }
            let result = try runExample(operands[0], replacing: Array(operands.dropFirst()))
            guard result.code == 0 else { throw ScriptFailure("the exit code is \(result.code)") }
        case "as" where !isNegated:
            try become(try one(operands))
        default:
            return false
        }
        return true
    }

    private func prepareRun(_ verb: String, _ operands: [String]) throws -> Bool {
        switch verb {
        case "stdin":
            standardInput = try existing(try one(operands)).path
        case "tty":
            guard operands.count == 2 else { throw ScriptFailure("tty takes a prompt and an answer") }
            let line = PseudoTerminal.Line(prompt: operands[0], answer: operands[1], meanwhile: meanwhile)
            dialogue = (dialogue ?? []) + [line]
            meanwhile = nil
        case "meanwhile":
            if operands == ["other"], let companion {
                meanwhile = { _ = try companion.end() }
                break
            }
            if operands == ["interrupt"] {
                guard try Intruder.library() != nil else { throw ScriptFailure("there is no C compiler for interrupt") }
                // The signal comes where the program makes something durable after the answer.
                let marker = work.appendingPathComponent("marker-\(UUID())")
                (intruder.stop, intruder.marker) = ((1, SIGINT), marker)
                meanwhile = { try Data().write(to: marker) }
                break
            }
            guard operands.count > 1 else { throw ScriptFailure("meanwhile takes a person and words") }
            meanwhile = somebodyElse(operands[0], Array(operands.dropFirst()))
        case "beside":
            isBeside = true
        case "other":
            guard let running = companion else { throw ScriptFailure("nothing was prepared") }
            companion = nil
            let result = try running.end()
            last = result
            log += "[other] \(result.code) \(result.errorText) \(result.transcript)\n"
        case "screen":
            isOnScreen = true
            dialogue = dialogue ?? []
        case "kill":
            guard let count = Int(try one(operands)), count > 0 else { throw ScriptFailure("kill takes a number") }
            guard try Intruder.library() != nil else { throw ScriptFailure("there is no C compiler for kill") }
            intruder.stop = (count, SIGKILL)
        case "clock":
            guard let days = Int(try one(operands)) else { throw ScriptFailure("clock takes a number of days") }
            intruder.shift = days * 86_400
        case "notty":
            guard dialogue == nil else { throw ScriptFailure("a dialogue is waiting for the next run") }
        case "env":
            for operand in operands {
                guard let equals = operand.firstIndex(of: "=") else { throw ScriptFailure("env takes K=V") }
                let value = String(operand[operand.index(after: equals)...])
                environment[String(operand[..<equals])] = value
                variables[String(operand[..<equals])] = value
            }
        default:
            return false
        }
        return true
    }

    /// Runs a line of a page's EXAMPLES in a shell, each first word of a pair replaced by the second.
    private func runExample(_ line: String, replacing pairs: [String]) throws -> ChildProcess.Result {
        var line = line
        for index in stride(from: 0, to: pairs.count, by: 2) {
            guard line.contains(pairs[index]) else { throw ScriptFailure("the line has no \(pairs[index])") }
            line = line.replacing(pairs[index], with: pairs[index + 1])
        }
        return try runTresor(
            ["-c", "tresor() { \"$0\" \"$@\"; }; \(line)", ChildProcess.program], program: "/bin/sh")
    }

    func runTresor(_ arguments: [String], program: String = ChildProcess.program) throws -> ChildProcess.Result {
        if isBeside { return try prepareCompanion(arguments, program: program) }
        if let companion, let first = dialogue?.indices.first { dialogue?[first].takesGroup = companion.begin }
        let terminal = try dialogue.map { try PseudoTerminal($0) }
        var environment = environment
        environment.merge(try intruder.variables()) { $1 }
        let child = ChildProcess(
            arguments: arguments, environment: environment, directory: work.path,
            standardInput: standardInput ?? "/dev/null", terminal: terminal, isOnScreen: isOnScreen)
        (standardInput, dialogue, isOnScreen) = (nil, nil, false)
        (intruder.stop, intruder.marker, intruder.trace) = (nil, nil, nil)
        let result = try child.run(program: program)
        last = result
        try checkObjects(of: result, arguments)
        for (name, text) in [("stdout", result.outputText), ("stderr", result.errorText), ("tty", result.transcript)]
        where !text.isEmpty {
            log += "[\(name)] \(text.prefix(4000))\n"
        }
        if let line = terminal?.unread.first { throw ScriptFailure("tty '\(line.prompt)' was never asked") }
        return result
    }

    /// Keeps a run, with its dialogue and environment, for a machine beside the next one.
    private func prepareCompanion(_ arguments: [String], program: String) throws -> ChildProcess.Result {
        guard companion == nil, intruder.isIdle else { throw ScriptFailure("one run is prepared already") }
        companion = Companion(
            arguments, program: program, environment: environment, directory: work.path, dialogue: dialogue ?? [])
        (standardInput, dialogue, isOnScreen, isBeside) = (nil, nil, false, false)
        return ChildProcess.Result(code: 0, output: [], error: [], transcript: "")
    }

    /// The action of a person with a home of their own between a question and its answer.
    private func somebodyElse(_ name: String, _ words: [String]) -> () throws -> Void {
        var variables = environment
        variables["TRESOR_HOME"] = work.appendingPathComponent("homes/\(name)").path
        variables["TRESOR_PASSWORD_FILE"] = work.appendingPathComponent("homes/\(name).password").path
        let directory = work.path
        return {
            let child = ChildProcess(arguments: words, environment: variables, directory: directory)
            let result = try child.run()
            guard result.code == 0 else {
                throw ScriptFailure("meanwhile \(name) ended with \(result.code): \(result.errorText)")
            }
        }
    }

    /// Switches to a person's home; makes it on first use.
    private func become(_ name: String) throws {
        let homes = work.appendingPathComponent("homes")
        let home = homes.appendingPathComponent(name)
        let password = homes.appendingPathComponent("\(name).password")
        environment["TRESOR_HOME"] = home.path
        environment["TRESOR_PASSWORD_FILE"] = password.path
        environment["TRESOR_STORE"] = environment["TRESOR_STORE"] ?? store.path
        guard !FileManager.default.fileExists(atPath: password.path) else { return }
        try FileManager.default.createDirectory(at: homes, withIntermediateDirectories: true)
        try write(Data("the password of \(name)\n".utf8), to: "homes/\(name).password")
        guard chmod(password.path, 0o600) == 0 else { throw ScriptFailure("chmod failed") }
        let isOrdinary = environment["TRESOR_STORE"] == store.path && intruder.isIdle && dialogue == nil
        last = try PreparedPeople.person(name, at: home, store: store, isOrdinary: isOrdinary) {
            try runTresor(
                ["keygen", name, "--no-kit", "--batch", "--argon2id", "64,3", "--password-file", password.path])
        }
        guard last?.code == 0 else { throw ScriptFailure("keygen for \(name) ended with \(last?.code ?? -1)") }
    }

    /// The last steps of every script.
    private func checkNothingPends() throws {
        if let line = dialogue?.first { throw ScriptFailure("\(script.name).txt: tty '\(line.prompt)' has no run") }
        if companion != nil { throw ScriptFailure("\(script.name).txt: beside has no other") }
        if meanwhile != nil { throw ScriptFailure("\(script.name).txt: meanwhile has no tty") }
        if intruder.stop != nil { throw ScriptFailure("\(script.name).txt: kill has no run") }
        if standardInput != nil { throw ScriptFailure("\(script.name).txt: stdin has no run") }
    }

    func one(_ operands: [String]) throws -> String {
        guard operands.count == 1 else { throw ScriptFailure("takes one operand") }
        return operands[0]
    }
}
