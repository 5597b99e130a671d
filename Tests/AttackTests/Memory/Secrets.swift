// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing
    import TresorSQLite
    import TresorStore

    @testable import Tresor
    @testable import TresorCore
    @testable import TresorCrypto

    /// The secrets of a person's program, known to the test.
    struct Secrets {
        /// By what they are called.
        private(set) var keys: [String: [UInt8]] = [:]
        /// The secrets in text: passwords, the words of a kit, content.
        private(set) var texts: [String: [UInt8]] = [:]
        private let person: String

        init(of person: String) {
            self.person = person
        }

        mutating func add(text: [UInt8], as name: String) { texts[name] = text }

        /// The code of a machine that gives an identity, as it is shown and as it is.
        mutating func add(code text: [UInt8]) throws {
            texts["the code"] = text
            let code = try DeviceCode(typed: SecretBytes(copying: text.span))
            keys["the code's bytes"] = code.bytes.span.publicBytes
        }

        /// The words of a kit, and what is made from them.
        mutating func add(kitIn text: [UInt8], as name: String) throws {
            let words = text.split { $0 == 0x20 || $0 == 0x0a }
            try #require(words.count == 24)
            for start in stride(from: 0, to: 24, by: 4) {
                texts["\(name), words from \(start + 1)"] = Array(words[start..<(start + 4)].joined(separator: [0x20]))
            }
            let kit = try RecoveryKit(typed: SecretBytes(copying: text.span))
            let slot = try kit.slotKey()
            keys["\(name): its slot's key"] = slot.span.publicBytes
            var bits: [Bool] = []
            for word in words {
                let index = try #require(WordList.words.firstIndex(of: Array(word)))
                for bit in (0..<11).reversed() { bits.append(index >> bit & 1 == 1) }
            }
            keys["\(name): its key"] = (0..<32).map { byte in
                (0..<8).reduce(UInt8(0)) { $0 << 1 | (bits[8 * byte + $1] ? 1 : 0) }
            }
        }

        /// The keys of the identity in a home as it is now, of the device it remembers and of every tresor it can read.
        mutating func learn(on stage: Stage, password text: [UInt8]) async throws {
            let home = stage.scratch["homes/\(person)"]
            let file = try IdentityFile(bytes(at: "\(home)/identity"))
            let generation = file.chain.newest.generation
            let password = try Password(typed: SecretBytes(copying: text.span))
            for slot in file.slots {
                guard case .password(let cost, let salt) = slot.kind else { continue }
                let key: SecretKey<SlotUse> = try Argon2id.key(password: password.bytes, salt: salt, cost: cost)
                keys["the password's key \(keys.count)"] = key.span.publicBytes
                let seed = try slot.open(with: key, user: file.chain.user, generation: generation)
                keys["seed \(generation)"] = seed.span.publicBytes
                let empty: [UInt8] = []
                let kem: SecretKey<KEMUse> = try seed.derive(.identityKEM, context: empty.span)
                keys["KEM seed \(generation)"] = kem.span.publicBytes
                let sign: SecretKey<SigningUse> = try seed.derive(.identitySign, context: empty.span)
                keys["signing seed \(generation)"] = sign.span.publicBytes
            }
            let store = try await SQLiteStore.open(at: stage.store, creating: false)
            let directory = DirectoryHome(data: home, state: "\(home)/state")
            if let encoded = try directory.read(.deviceShare) {
                let kept = try SecretBytes(copying: encoded.span)
                let share = try DeviceShare(kept)
                keys["the device share \(share.id)"] = Array(encoded.suffix(32))
                if let other = try await store.serverShare(user: share.user, device: share.id) {
                    let stored = try SecretBytes(copying: other.span)
                    let key = try share.slotKey(serverShare: stored)
                    keys["the device's key \(share.id)"] = key.span.publicBytes
                }
            }
            let client = Client(home: directory, store: store) { 2_000_000_000 }
            let session = Session(client: client, identity: try file.open(withPassword: password))
            for tresor in try client.logs.knownBlocking() {
                let state = try await client.logs.state(of: tresor, remembering: .no)
                for epoch in 1...state.epoch {
                    guard let found = try? await session.keyRing.keys(of: epoch, in: state) else { continue }
                    let wrapped = try found.secret()
                    let both = wrapped.span.publicBytes
                    keys["TK \(tresor) \(epoch)"] = Array(both.prefix(32))
                    keys["HK \(tresor) \(epoch)"] = Array(both.suffix(32))
                }
            }
        }
    }
#endif
