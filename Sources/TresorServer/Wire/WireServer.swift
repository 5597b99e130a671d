// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import TresorCore

    /// The service on its addresses.
    struct WireServer: Sendable {
        /// Where the service listens.
        enum Address: Hashable, Sendable {
            case network(host: String, port: Int)
            /// A socket in the file system, behind a proxy.
            case socket(path: String)
        }

        let handler: any ServiceHandler
        let address: Address
        /// The names under which clients know the service. One without a port has that on which the service listens, or 443
        /// behind a proxy.
        let names: [HostName]
        /// The certificate; `nil` for none, on loopback or behind a proxy.
        var certificates: Certificates?
        /// Where the metrics are, on loopback; `nil` for nowhere.
        var metrics: Address?
        var limits = ServerLimits()
        let report: Report
        /// Ends all waits, when the service begins to stop.
        var stopping: @Sendable () -> Void = {}

        /// Listens, and serves until the service is stopped.
        ///
        /// - Throws: ``ServerFailure`` that names the address on which it cannot listen, and why.
        func start() async throws -> RunningServer {
            let connections = Connections()
            var listening: [any Channel] = []
            if let metrics {
                let responder = Responder(
                    target: .metrics(report.registry), rule: .metrics, limits: limits, report: report,
                    isBehindProxy: false)
                listening.append(try await metrics.listen(StrictChannel(responder: responder), connections))
            }
            let responder = Responder(
                target: .service(handler), rule: .service(names: names), limits: limits, report: report,
                isBehindProxy: address.isSocket, isSecure: certificates != nil)
            let strict = StrictChannel(responder: responder, certificates: certificates)
            let own = try await address.listen(strict, connections)
            let port = own.localAddress?.port
            report.say(.listening, port: port)
            lookAtCertificate()
            return RunningServer(
                port: port ?? 0, server: self, bodies: responder.bodies, listening: listening + [own],
                connections: connections)
        }

        /// Reads the certificate again, if there is one.
        func readCertificate() {
            guard let certificates else { return }
            do throws(ServerFailure) {
                try certificates.reload()
                if lookAtCertificate() { report.say(.certificate) }
            } catch {
                report.say(.certificate, .error, reason: error.message)
            }
        }

        /// Says once a day that the certificate ends soon, or has ended.
        func remind(at now: Int = CalendarTime.now.seconds) {
            if let fault = certificates?.reminder(at: now) { report.say(.certificate, .warning, reason: fault) }
        }

        /// Says why clients do not take the certificate, or soon will not.
        ///
        /// - Returns: whether nothing was found.
        @discardableResult private func lookAtCertificate() -> Bool {
            guard let certificates else { return true }
            report.registry.set(Double(certificates.end), .certificateEnd)
            let now = CalendarTime.now.seconds
            _ = certificates.reminder(at: now)
            let faults = [certificates.fault(at: now)].compactMap(\.self) + certificates.faults(for: names)
            for fault in faults { report.say(.certificate, .warning, reason: fault) }
            return faults.isEmpty
        }
    }
#endif
