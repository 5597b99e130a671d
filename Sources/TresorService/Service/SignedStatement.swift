// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The statement of a session that verified, and the key that signed it.
    struct SignedStatement: Equatable, Sendable {
        let session: Hash256
        let signer: Hash256
        /// The generation of the person who signed; 0 for a device.
        private let generation: UInt32
        /// The device that signed; `nil` for a person.
        private let device: DeviceID?

        init(_ statement: SessionStatement, _ session: Hash256, by signer: Hash256) {
            self.session = session
            self.signer = signer
            generation = statement.generation
            device = statement.signingDevice
        }

        /// Whether another statement of the same person names the same signer, by generation or device. It proves nothing.
        func namesSigner(of other: SessionStatement) -> Bool {
            generation == other.generation && device == other.signingDevice
        }
    }
#endif
