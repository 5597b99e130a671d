// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import ArgumentParser
    import Cvariadic
    import TresorCrypto
    import TresorStore

    /// The commands of `tresor-server`.
    struct ServerCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "tresor-server", abstract: "Keep tresors for people on several machines.",
            discussion: "The service sees no care plan and no name of a tresor, and opens nothing.",
            version: "tresor-server 0.1.0",
            subcommands: [
                InitCommand.self, RunCommand.self, ImportCommand.self, CheckCommand.self, AccountsCommand.self,
                CloseCommand.self, InvitationsCommand.self, WithdrawCommand.self,
            ])
    }

    /// From arguments to exit code.
    enum ServerProgram {
        static func run(_ arguments: [String]) async -> Int32 {
            harden()
            do {
                var command = try ServerCommand.parseAsRoot(arguments)
                guard var asynchronous = command as? any AsyncParsableCommand else {
                    try command.run()
                    return 0
                }
                try await asynchronous.run()
                return 0
            } catch {
                return tell(error, arguments)
            }
        }

        /// Keeps what this memory holds of people out of core files, which would have the bodies of requests, and takes what
        /// a service needs of its system.
        private static func harden() {
            _ = variadic_forbid_dumps()
            signal(SIGPIPE, SIG_IGN)
            // A file that may not grow further is a failed write, not the end of the service.
            signal(SIGXFSZ, SIG_IGN)
            OpenFiles.raiseLimit()
            umask(0o077)
        }

        private static func tell(_ error: any Error, _ arguments: [String]) -> Int32 {
            if let failure = error as? ServerFailure {
                StandardError.write("tresor-server: \(failure.message)\n")
                return failure.exitCode
            }
            if let error = error as? TresorError { return tell(ServerFailure(error), arguments) }
            let message = hiding(arguments, in: ServerCommand.fullMessage(for: error))
            guard ServerCommand.exitCode(for: error) != .success else {
                print(message)
                return 0
            }
            StandardError.write(message + "\n")
            return ServerCommand.exitCode(for: error).rawValue
        }

        /// A message of the parser without the arguments that it quotes, where one of them is an address: with a blank in its
        /// password, another one is a part of that.
        static func hiding(_ arguments: [String], in message: String) -> String {
            guard arguments.contains(where: { $0.contains("://") }) else { return message }
            return arguments.reduce(message) { $0.replacing("'\($1)'", with: "'…'") }
        }
    }

    /// Standard error, one write a text.
    enum StandardError {
        static func write(_ text: String) {
            let bytes = Array(text.utf8)
            try? SystemCall.write(bytes.span.bytes, to: STDERR_FILENO)
        }
    }
#endif
