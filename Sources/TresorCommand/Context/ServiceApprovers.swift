// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The people whom a service demands as approvers of each share.
enum ServiceApprovers {
    /// The failure of a change that a service refused with *no access*: it names the approvers that the tresor lacks.
    ///
    /// - Parameters:
    ///   - approvers: those whom the tresor would name.
    ///   - tresor: the tresor as it was typed.
    static func failure(
        naming approvers: [CardChain], of tresor: String, _ session: Session, _ workplace: CommandContext
    ) async -> any Error {
        guard let service = AskedService(session, workplace),
            let demanded = try? await service.call(ServerRequest()).approvers.compactMap({ try? CardChain($0) })
        else { return TresorError.noAccess }
        let missing = demanded.filter { chain in !approvers.contains { $0.user == chain.user } }
        guard !missing.isEmpty else { return TresorError.noAccess }
        let names = missing.map { DisplayText.name($0.handle.bytes) }.joined(separator: ", ")
        let words = (approvers + missing).map { Shell.word($0.handle, or: $0.user) }.joined(separator: " ")
        return CommandFailure(
            of: .noAccess, "\(service.place) demands that \(names) can approve each share",
            hints: ["tresor rotate -t \(Shell.word(tresor)) --approver \(words)"])
    }
}
