// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The statement of a session that verified, and the key that signed it.
    struct SignedStatement: Equatable, Sendable {
        let session: Hash256
        let signer: Hash256
        /// The time at which a request in it has held, in seconds since 1970.
        let time: UInt64
        /// The generation of the person who signed; 0 for a device.
        private let generation: UInt32
        /// The device that signed; `nil` for a person.
        private let device: DeviceID?

        init(_ statement: SessionStatement, _ session: Hash256, by signer: Hash256, at time: UInt64) {
            self.session = session
            self.signer = signer
            self.time = time
            generation = statement.generation
            device = statement.signingDevice
        }

        /// Whether both are the same statement by the same key, whenever a request in it has held.
        static func == (one: SignedStatement, other: SignedStatement) -> Bool {
            one.session == other.session && one.signer == other.signer
        }

        /// Whether another statement of the same person names the same signer, by generation or device. It proves nothing.
        func namesSigner(of other: SessionStatement) -> Bool {
            generation == other.generation && device == other.signingDevice
        }
    }
#endif
