// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import TresorCrypto

    /// The question before something that cannot be taken back.
    enum Confirmation {
        /// Asks the person at the terminal, unless the arguments say yes.
        ///
        /// - Parameters:
        ///   - question: the question, before its last words.
        ///   - check: what a person without a terminal looks at first.
        ///   - refusal: the message after another answer.
        /// - Throws: ``ServerFailure`` for another answer than yes, and 64 without a terminal.
        static func require(
            _ isGiven: Bool, _ question: String = "", after check: String = "read the lines above",
            refusing refusal: String
        ) throws(ServerFailure) {
            guard !isGiven else { return }
            guard isatty(STDIN_FILENO) == 1 else {
                throw .usage("this needs a yes: \(check), and run it again with --yes")
            }
            print("\(question)Type yes: ", terminator: "")
            _ = fflush(nil)
            guard readLine() == "yes" else { throw ServerFailure(.failed(.other), refusal) }
        }
    }
#endif
