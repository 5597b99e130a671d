// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The values on which both sides of a log-in at a service agree beforehand (SPEC §20.1).
package struct LoginParameters: Sendable {
    /// The id of the service.
    package let server: Hash256
    private let handle: Name
    private let cost: Argon2id.Cost

    /// - Throws: ``TresorError/altered`` for a service whose cost of Argon2id breaks SPEC §5.5.
    package init(server: Server, handle: Name) throws(TresorError) {
        self.server = try server.id()
        self.handle = handle
        cost = try Argon2id.Cost(memoryKiB: server.memoryKiB, passes: server.passes)
    }

    /// The service finds the record by it. It never changes, so nobody outside sees that a password was changed.
    package var identifier: [UInt8] { OPAQUE.prefixed(handle.bytes) }

    /// The bytes that a log-in is bound to: key and cost of the service.
    package var context: [UInt8] { Array("tresor/v1/opaque".utf8) + server.bytes }

    package func names() throws(TresorError) -> OPAQUE.Names {
        try OPAQUE.Names(client: handle.bytes, server: server.bytes)
    }

    package func parameters() throws(TresorError) -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: context, cost: cost)
    }

    /// The input of the function: the password with what it is bound to.
    package func input(_ password: borrowing Password) throws(TresorError) -> SecretBytes {
        let (before, after) = (bigEndianBytes(UInt16(password.bytes.count)), identifier + server.bytes)
        let count = before.count + password.bytes.count + after.count
        return try SecretBytes(count: count) { (output) throws(TresorError) in
            for (index, byte) in before.enumerated() { output[index] = byte }
            let typed = password.bytes.span
            for index in typed.indices { output[before.count + index] = typed[index] }
            for (index, byte) in after.enumerated() { output[before.count + typed.count + index] = byte }
        }
    }
}
