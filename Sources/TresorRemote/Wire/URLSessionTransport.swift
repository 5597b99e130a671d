// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Foundation
    package import TresorCore
    import TresorCrypto

    /// The transport of Apple's systems. It follows no redirect and keeps no cookie and no cache.
    package final class URLSessionTransport: NSObject, Transport, URLSessionTaskDelegate {
        private let address: ServiceAddress
        package var audience: Audience { address.audience }
        private let session: URLSession

        package init(to address: ServiceAddress) {
            self.address = address
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
            session = URLSession(configuration: configuration)
        }

        package func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            guard let url = URL(string: "\(address)\(request.target)") else { throw .unreachable }
            var message = URLRequest(url: url, timeoutInterval: Double(request.timeout.components.seconds))
            message.httpMethod = "POST"
            message.httpBody = Data(request.body)
            message.setValue(WireForm.mediaType, forHTTPHeaderField: "Content-Type")
            message.setValue(request.authorization, forHTTPHeaderField: "Authorization")
            let (data, response): (Data, URLResponse)
            do { (data, response) = try await session.data(for: message, delegate: self) } catch {
                throw Self.failure(of: error)
            }
            guard let response = response as? HTTPURLResponse, data.count <= request.maximumAnswerByteCount else {
                throw .foreign
            }
            func header(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }
            if (502...504).contains(response.statusCode), header("Content-Type") != WireForm.mediaType {
                throw TransportFailure(.away(status: response.statusCode))
            }
            return TransportAnswer(
                status: response.statusCode, isOfService: header("Content-Type") == WireForm.mediaType,
                date: header("Date").flatMap { HTTPDate.seconds($0.utf8) },
                retryAfter: header("Retry-After").flatMap { UInt32($0) }, body: Array(data))
        }

        package func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? { nil }

        private static func failure(of error: any Error) -> TransportFailure {
            switch (error as? URLError)?.code {
            case .cancelled: .cancelled
            case .networkConnectionLost: .broken
            case .timedOut: TransportFailure(.slow)
            case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
                .certificate
            default: .unreachable
            }
        }
    }
#endif
