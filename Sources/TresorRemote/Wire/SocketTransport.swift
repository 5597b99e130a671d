// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Synchronization
    package import TresorCore
    package import TresorCrypto

    /// The transport over sockets. It keeps one connection open between exchanges.
    ///
    /// The calls of the system wait on threads of their own, a long poll on one that does nothing else. The cancellation
    /// of a task ends its connection.
    package final class SocketTransport: Transport {
        private let target: ConnectionTarget
        package var audience: Audience { target.address.audience }
        private let idle = Mutex<Connection?>(nil)

        /// - Parameters:
        ///   - authorities: where the certificates of the trusted authorities are.
        ///   - proxy: the proxy to go through.
        /// - Throws: ``TresorError/failed(_:)`` for a file that cannot be read or has no certificates;
        ///   ``TresorError/usage(_:)`` for a proxy in front of this machine.
        package init(
            to address: ServiceAddress, authorities: Authorities, proxy: HostAndPort?
        ) throws(TresorError) {
            guard address.isSecure || proxy == nil else { throw .usage(.address) }
            target = ConnectionTarget(
                address: address, proxy: proxy,
                context: address.isSecure ? try TLSContext(authorities) : nil)
        }

        package func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            guard !Task.isCancelled else { throw .cancelled }
            let control = ExchangeControl()
            let result = await withTaskCancellationHandler {
                await withoutFailing(request.isLongPoll) { () throws(TransportFailure) in
                    try self.exchange(request, control)
                }
            } onCancel: {
                control.cancel()
            }
            return try result.get()
        }

        private func withoutFailing(
            _ isLongPoll: Bool, _ exchange: @escaping @Sendable () throws(TransportFailure) -> TransportAnswer
        ) async -> Result<TransportAnswer, TransportFailure> {
            do throws(TresorError) {
                let steps = { @Sendable () throws(TresorError) in
                    Result { () throws(TransportFailure) in try exchange() }
                }
                return try await isLongPoll ? Cores.waiting(steps) : Cores.apart(steps)
            } catch {
                return .failure(TransportFailure(error))
            }
        }

        private func exchange(
            _ request: TransportRequest, _ control: ExchangeControl
        ) throws(TransportFailure) -> TransportAnswer {
            let connection = try connection(for: control)
            do throws(TransportFailure) {
                let (answer, isReusable) = try connection.exchange(request, host: target.address.authority)
                if isReusable { idle.withLock { $0 = connection } }
                return answer
            } catch {
                throw control.isCancelled ? .cancelled : error
            }
        }

        /// The open connection, if it is still good; otherwise a new one.
        private func connection(for control: ExchangeControl) throws(TransportFailure) -> Connection {
            if let kept = idle.withLock({ $0.take() }), kept.isQuiet() {
                try control.use(kept.socket)
                return kept
            }
            do throws(TransportFailure) { return try Connection(to: target, for: control) } catch {
                guard case .certificate(.authority)? = error.obstacle, target.context?.trustBundle() == true else {
                    throw error
                }
                return try Connection(to: target, for: control)
            }
        }
    }
#endif
