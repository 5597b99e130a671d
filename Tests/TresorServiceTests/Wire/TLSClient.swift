// SPDX-License-Identifier: Apache-2.0

#if Server
    import Copenssl
    import TresorCrypto
    import TresorTLS

    /// One side of TLS in memory, mostly the client's. It trusts everybody, and also does what no honest side does.
    final class TLSClient {
        let engine: TLSEngine

        init() throws {
            let context = try TLSEngine.makeContext(isServer: false)
            // The connection keeps it.
            defer { SSL_CTX_free(context) }
            engine = try TLSEngine(context)
            SSL_set_connect_state(engine.connection)
        }

        /// Takes a side that somebody made.
        init(_ engine: TLSEngine) { self.engine = engine }

        /// Takes what the other side sent.
        func take(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { engine.take($0) } }

        /// All that the other side said, and how it went on.
        func read() -> (bytes: [UInt8], progress: TLSEngine.Progress) {
            var (bytes, progress): ([UInt8], TLSEngine.Progress) = ([], .done(0))
            while case .done = progress {
                bytes += [UInt8](unsafeUninitializedCapacity: 16 << 10) { memory, count in
                    progress = engine.read(into: UnsafeMutableRawBufferPointer(memory))
                    if case .done(let read) = progress { count = read }
                }
            }
            return (bytes, progress)
        }

        /// The record of at most 16 KiB.
        func record(of bytes: [UInt8]) -> [UInt8] {
            _ = bytes.withUnsafeBytes { engine.write($0) }
            return engine.takeOutgoing()
        }

        /// The record that changes the keys of this side, and asks the other side for new ones, too.
        func newKeys(asking: Bool = true) -> [UInt8] {
            SSL_key_update(engine.connection, asking ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
            _ = engine.shakeHands()
            return engine.takeOutgoing()
        }

        /// The record that says that nothing more comes.
        func farewell() -> [UInt8] {
            engine.end()
            return engine.takeOutgoing()
        }
    }
#endif
