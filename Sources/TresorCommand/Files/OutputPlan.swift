// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Assigns each INPUT its output before anything is opened.
struct OutputPlan: Sendable, Equatable {
    enum Target: Sendable, Equatable {
        case standardOutput(isForced: Bool)
        case file(String)
    }

    struct Step: Sendable, Equatable {
        /// `nil` for standard input.
        let input: String?
        let target: Target
    }

    let steps: [Step]
    /// `-C`.
    private let directory: String?

    /// - Parameters:
    ///   - inputs: the INPUTs as given.
    ///   - output: `-o`.
    ///   - directory: `-C`.
    ///   - json: whether standard output is taken by JSON.
    ///   - takesDirectory: whether the command has `-C`.
    ///   - rename: from an INPUT's last component to the output's.
    /// - Throws: 64 when options contradict one another or two INPUTs have one output name.
    init(
        inputs: [String], output: String?, directory: String?, json: Bool = false, takesDirectory: Bool = true,
        rename: (String) -> String
    ) throws(CommandFailure) {
        self.directory = directory
        guard output == nil || directory == nil else { throw .usage("-o and -C cannot both be given") }
        guard output != "", directory != "", !inputs.contains("") else { throw .usage("a file name cannot be empty") }
        guard !json || (output ?? directory).map({ $0 != "-" }) ?? (inputs.count > 1) else {
            throw .usage(
                "with --json the output needs a file",
                hints: ["tresor … {-o} -o FILE"] + (takesDirectory ? ["tresor … {-o} -C DIR"] : []))
        }
        let inputs: [String?] = inputs.isEmpty ? [nil] : inputs.map { $0 == "-" ? nil : $0 }
        guard inputs.filter({ $0 == nil }).count <= 1 else { throw .usage("standard input can be named only once") }
        if let output {
            guard inputs.count == 1 else {
                throw .usage("-o takes one INPUT", hints: ["tresor … {-o} -C DIR"])
            }
            steps = [Step(input: inputs[0], target: output == "-" ? .standardOutput(isForced: true) : .file(output))]
        } else if inputs.count == 1, directory == nil {
            steps = [Step(input: inputs[0], target: .standardOutput(isForced: false))]
        } else {
            steps = try Self.several(inputs, directory, rename)
        }
    }

    /// Refuses an output that would replace an INPUT, which another step may read later. Refuses a file that is both
    /// INPUT and standard output, which would grow under its reader.
    ///
    /// A single INPUT is compared with its output file when it is opened. A missing directory of `-C` is one error, not
    /// one for each INPUT.
    func refuseInputs() throws(CommandFailure) {
        if let directory { try Self.requireDirectory(directory) }
        let inputs = Set(
            steps.compactMap { step in
                step.input.map { FileIdentity(path: $0) } ?? FileIdentity(descriptor: STDIN_FILENO)
            })
        if case .standardOutput = steps[0].target, FileIdentity.isFile(descriptor: STDOUT_FILENO),
            let target = FileIdentity(descriptor: STDOUT_FILENO),
            inputs.contains(target)
        {
            throw CommandFailure.usage("standard output is the INPUT itself", hints: ["tresor … -o FILE"])
        }
        guard steps.count > 1 else { return }
        for case .file(let path) in steps.map(\.target) {
            guard let target = FileIdentity(path: path), inputs.contains(target) else {
                continue
            }
            throw CommandFailure(
                .usage, "\(DisplayText.quoted(path)) is both input and output", hints: ["tresor … {-C} -C DIR"],
                file: path)
        }
    }

    /// - Throws: 10 where no directory is.
    static func requireDirectory(_ directory: String) throws(CommandFailure) {
        var status = stat()
        guard stat(directory, &status) == 0, status.isKind(S_IFDIR) else {
            throw CommandFailure(
                .notFound, "there is no directory \(DisplayText.quoted(directory))",
                hints: ["mkdir -p \(Shell.path(directory))"], file: directory)
        }
    }

    private static func several(
        _ inputs: [String?], _ directory: String?, _ rename: (String) -> String
    ) throws(CommandFailure) -> [Step] {
        var steps: [Step] = []
        var taken: Set<[UInt8]> = []
        for input in inputs {
            guard let input else {
                throw .usage(
                    "standard input has no name for its output",
                    hints: inputs.count == 1 ? ["tresor … {-C} -o FILE"] : [])
            }
            let name = rename(InputFile.lastComponent(of: input))
            let isName = !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
            guard isName else {
                throw CommandFailure(.usage, "\(DisplayText.quoted(input)) gives no name for its output", file: input)
            }
            let path = Paths.join(directory ?? AtomicFile.split(input).directory, name)
            guard taken.insert(Array(path.utf8)).inserted else {
                throw CommandFailure(.usage, "two INPUTs would be written to \(DisplayText.quoted(path))", file: path)
            }
            steps.append(Step(input: input, target: .file(path)))
        }
        return steps
    }
}
