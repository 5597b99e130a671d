// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Asks one service for what no ``Store`` has, in the name of a ``Caller`` (SPEC §18.4).
package protocol ServiceCaller: Sendable {
    /// Returns the same service, asked in the name of somebody.
    func speaking(as caller: Caller) -> Self

    /// Sends a request and reads its answer.
    ///
    /// - Throws: ``TresorError/noAccess``, ``TresorError/waiting``, ``TresorError/unverified`` and
    ///   ``TresorError/unsupported`` as the service says; ``TresorError/busy``; ``TresorError/store(_:)`` for anything
    ///   else that is not an answer.
    func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer

    /// Asks for the description of the service.
    ///
    /// - Throws: ``TresorError/altered`` for another service than the one that answered before; the errors of
    ///   ``call(_:)``.
    func server() async throws(TresorError) -> Server
}
