// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// People who log in at a service by their passwords. They stretch them by nothing, so that a guess takes no time.
    struct LoginScene: Sendable {
        static let password = "correct horse battery"

        /// The source of people who log in.
        static let source: [UInt8] = [192, 0, 2, 1]

        let bench: Bench
        /// The process that people ask.
        var service: Service

        init(_ registration: Registration = .open) async throws {
            bench = try await Bench(registration, withLogins: true)
            service = bench.service
        }

        var server: Server { bench.settings.server }

        /// Somebody with an account and a password.
        func person(_ handle: String) async throws -> (signer: Signer, finish: FinishRequest) {
            let signer = try bench.stranger(handle).at(service)
            let finish = try await setting(Self.password, of: signer, revision: 1)
            _ = try await signer.ask(finish)
            return (signer, finish)
        }

        /// Registers with a password, and makes what ends it.
        func setting(_ password: String, of signer: Signer, revision: UInt64) async throws -> FinishRequest {
            let parameters = try LoginParameters(server: server, handle: signer.identity.handle)
            let registration = try OPAQUERegistration(input: parameters.input(Password(password)))
            let request = RegisterRequest(
                chain: signer.identity.chain.bytes, invitation: [], blinded: registration.message)
            let evaluated = try await signer.ask(request).evaluated
            let outcome = try registration.finish(
                evaluated: evaluated, serverKey: server.key.bytes, names: parameters.names(),
                parameters: Self.quick(parameters))
            return try finishing(outcome.record, of: signer, revision: revision)
        }

        /// The statement about a record, with a copy, or else the text of its revision.
        func finishing(
            _ record: [UInt8], of signer: Signer, revision: UInt64, copy: [UInt8]? = nil
        ) throws -> FinishRequest {
            let copy = copy ?? Array("copy \(revision)".utf8)
            return FinishRequest(
                record: record,
                statement: try LoginStatement(
                    by: signer.identity, server: service.id, revision: revision,
                    record: LoginStatement.hash(ofRecord: record), copy: LoginStatement.hash(ofCopy: copy),
                    time: bench.clock.now),
                copy: copy)
        }

        /// The parameters of a service, without Argon2id.
        static func quick(_ parameters: LoginParameters) throws -> OPAQUE.Parameters {
            try OPAQUE.Parameters(context: parameters.context) { (output) throws(TresorError) in
                try SecretBytes(copying: output.span)
            }
        }

        /// The answer to a first message.
        struct Begun: Sendable {
            let answer: LoginAnswer
            /// The last message; `nil` where the password does not open the answer.
            let last: [UInt8]?

            /// The request that ends it, with a message of ones where the password is wrong.
            var finish: FinishLoginRequest {
                FinishLoginRequest(attempt: answer.attempt, message: last ?? [UInt8](repeating: 1, count: 64))
            }
        }

        /// Begins a log-in, and throws the error of a refusal.
        func begin(
            _ handle: String, _ password: String = Self.password, from source: [UInt8] = Self.source
        ) async throws -> Begun {
            let parameters = try LoginParameters(server: server, handle: Name(typed: handle))
            let login = try OPAQUELogin(input: parameters.input(Password(password)))
            let reply = await reply(
                to: try LoginRequest(handle: Name(typed: handle), message: login.message), from: source)
            if let error = reply.error { throw error }
            let answer = try LoginAnswer(reply.body)
            let quick = try Self.quick(parameters)
            do throws(TresorError) {
                let outcome = try login.finish(answer: answer.message, names: parameters.names(), parameters: quick)
                return Begun(answer: answer, last: outcome.message)
            } catch {
                guard error == .wrongPassword else { throw error }
                return Begun(answer: answer, last: nil)
            }
        }

        /// Ends a log-in, and throws the error of a refusal.
        func end(_ begun: Begun, from source: [UInt8] = Self.source) async throws -> FinishLoginAnswer {
            let reply = await reply(to: begun.finish, from: source)
            if let error = reply.error { throw error }
            return try FinishLoginAnswer(reply.body)
        }

        /// Asks as nobody.
        func reply(to request: some ServiceRequest, from source: [UInt8] = Self.source) async -> ServiceReply {
            await service.answer(
                ServiceCall(
                    operation: type(of: request).operation, body: request.bytes, authorization: nil, source: source))
        }

        /// A first message of a password under a handle.
        func first(_ handle: String, _ password: String = Self.password) throws -> LoginRequest {
            let parameters = try LoginParameters(server: server, handle: Name(typed: handle))
            let login = try OPAQUELogin(input: parameters.input(Password(password)))
            return try LoginRequest(handle: Name(typed: handle), message: login.message)
        }

        /// The rows of a table.
        func rows(_ statement: SQL) async throws -> [SQLRow] { try await bench.engine.read(statement) }

        /// The number of attempts that lie there and may still end with the password.
        func attemptCount() async throws -> Int {
            try await rows(SQL("SELECT attempt FROM login_attempts WHERE length(expected) > 0")).count
        }
    }
#endif
