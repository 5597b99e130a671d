// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCrypto

    /// The failure of a command, as told to the operator: the thing, the reason, the way out.
    struct ServerFailure: Error, Hashable, Sendable {
        /// The error, in the one vocabulary; `nil` for wrong arguments.
        let error: TresorError?
        let message: String

        init(_ error: TresorError, _ message: String) {
            self.error = error
            self.message = message
        }

        /// A failure without better words.
        init(_ error: TresorError) {
            self.init(error, Self.words(error))
        }

        private init(usage message: String) {
            error = nil
            self.message = message
        }

        /// Wrong arguments.
        static func usage(_ message: String) -> ServerFailure { ServerFailure(usage: message) }

        /// The exit code of SPEC §12.
        var exitCode: Int32 {
            guard let error else { return ErrorName.usage.exitCode }
            return (ErrorName(rawValue: error.name) ?? .failed).exitCode
        }

        private static func words(_ error: TresorError) -> String {
            switch error {
            case .failed(let fault): fault.rawValue
            case .store(let fault): "the database failed: \(fault.rawValue)"
            case .busy: "another program holds the database; try again"
            case .unverified: "there is another card under the same handle"
            case .altered: "a card or a log is damaged or forged"
            default: error.name
            }
        }
    }
#endif
