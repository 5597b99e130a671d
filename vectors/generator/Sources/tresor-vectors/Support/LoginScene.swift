// SPDX-License-Identifier: Apache-2.0

import Csodium

/// One name at one service, with every intermediate value of a registration and a log-in (SPEC §20).
struct LoginScene {
    let draw: Draw
    var input: Bytes
    var identifier: Bytes
    var client: Bytes
    var server: Bytes
    var context: Bytes
    var memoryKiB = 64
    var passes = 1

    /// The values of SPEC §20.1 for a service and a handle.
    init(_ draw: Draw, password: String, handle: String) {
        self.draw = draw
        server = draw("server id", 32)
        client = ascii(handle)
        identifier = u16(client.count) + client
        input = join(u16(password.utf8.count), ascii(password), identifier, server)
        context = ascii("tresor/v1/opaque") + server
    }

    var oprfSeed: Bytes { draw("oprf seed", 64) }
    var privateKey: Bytes { Ristretto.scalar(draw("private key", 64)) }
    var serverKey: Bytes { Ristretto.publicKey(privateKey) }

    var functionSeed: Bytes { expandSHA512(oprfSeed, identifier + ascii("OprfKey"), 32) }
    var functionKey: Bytes { Ristretto.deriveKey(functionSeed, "OPAQUE-DeriveKeyPair") }
    var inputElement: Bytes { Ristretto.element(of: input) }

    /// The function of the input, which no blind changes.
    var unblinded: Bytes { Ristretto.multiply(inputElement, by: functionKey) }
    var output: Bytes {
        sha512(join(u16(input.count), input, u16(32), unblinded, ascii("Finalize")))
    }
    var stretched: Bytes {
        var stretched = zeros(64)
        let status = crypto_pwhash(
            &stretched, 64, output.map { CChar(bitPattern: $0) }, 64, zeros(16), UInt64(passes), memoryKiB * 1024,
            crypto_pwhash_ALG_ARGON2ID13)
        precondition(status == 0)
        return stretched
    }
    var randomizedPassword: Bytes { hmacSHA512([], output + stretched) }
    var maskingKey: Bytes { expandSHA512(randomizedPassword, ascii("MaskingKey"), 64) }

    /// The keys from a nonce and the randomized password.
    var envelope: LoginEnvelope { LoginEnvelope(self, nonce: draw("envelope nonce", 32)) }
    var record: Bytes { join(envelope.publicKey, maskingKey, envelope.bytes) }

    /// The blind and the blinded element of a registration or a log-in.
    func blind(_ name: String) -> Bytes { Ristretto.scalar(draw("blind of a \(name)", 64)) }
    func blinded(_ name: String) -> Bytes { Ristretto.multiply(inputElement, by: blind(name)) }
    func evaluated(_ name: String) -> Bytes { Ristretto.multiply(blinded(name), by: functionKey) }

    var names: [(String, Datum)] { [("client name", .bytes(client)), ("server name", .bytes(server))] }
    var cost: [(String, Datum)] { [("memory_kib", .bytes(u32(memoryKiB))), ("passes", .bytes(u32(passes)))] }
    var secrets: [(String, Datum)] {
        [
            ("oprf seed", .bytes(oprfSeed)), ("private key", .bytes(privateKey)),
            ("identifier", .bytes(identifier)),
        ]
    }
}

/// An envelope and what it is made of (SPEC §20.3).
struct LoginEnvelope {
    let seed: Bytes
    let privateKey: Bytes
    let publicKey: Bytes
    let authKey: Bytes
    let exportKey: Bytes
    let bytes: Bytes

    init(_ scene: LoginScene, nonce: Bytes) {
        let password = scene.randomizedPassword
        seed = expandSHA512(password, nonce + ascii("PrivateKey"), 32)
        privateKey = Ristretto.deriveKey(seed, "OPAQUE-DeriveDiffieHellmanKeyPair")
        publicKey = Ristretto.publicKey(privateKey)
        authKey = expandSHA512(password, nonce + ascii("AuthKey"), 64)
        exportKey = expandSHA512(password, nonce + ascii("ExportKey"), 64)
        let bound = join(
            scene.serverKey, u16(scene.server.count), scene.server, u16(scene.client.count), scene.client)
        bytes = nonce + hmacSHA512(authKey, nonce + bound)
    }
}

/// A log-in and what it is made of (SPEC §20.4): the side of the server.
struct LoginExchange {
    let firstMessage: Bytes
    let clientPrivateShare: Bytes
    let serverPrivateShare: Bytes
    let pad: Bytes
    let transcript: Bytes
    let products: Bytes
    let secret: Bytes
    let handshakeSecret: Bytes
    let sessionKey: Bytes
    let serverCodeKey: Bytes
    let clientCodeKey: Bytes
    let serverCode: Bytes
    let lastMessage: Bytes
    let answer: Bytes

    /// - Parameters:
    ///   - record: that of the name, or of a name that nobody has.
    ///   - privateKey: that of the service, or of somebody who lacks it.
    ///   - shownKey: the public key that the answer hides.
    init(_ scene: LoginScene, record: Bytes? = nil, privateKey: Bytes? = nil, shownKey: Bytes? = nil) {
        let (record, privateKey) = (record ?? scene.record, privateKey ?? scene.privateKey)
        clientPrivateShare = Ristretto.deriveKey(
            scene.draw("client share seed", 32), "OPAQUE-DeriveDiffieHellmanKeyPair")
        serverPrivateShare = Ristretto.deriveKey(
            scene.draw("server share seed", 32), "OPAQUE-DeriveDiffieHellmanKeyPair")
        let clientShare = Ristretto.publicKey(clientPrivateShare)
        firstMessage = join(scene.blinded("log-in"), scene.draw("client nonce", 32), clientShare)
        let maskingNonce = scene.draw("masking nonce", 32)
        pad = expandSHA512(record.at(32, 64), maskingNonce + ascii("CredentialResponsePad"), 128)
        let masked = zip((shownKey ?? scene.serverKey) + record.at(96, 96), pad).map { $0 ^ $1 }
        let shown = join(
            scene.evaluated("log-in"), maskingNonce, masked, scene.draw("server nonce", 32),
            Ristretto.publicKey(serverPrivateShare))
        transcript = join(
            ascii("OPAQUEv1-"), u16(scene.context.count), scene.context, u16(scene.client.count), scene.client,
            firstMessage, u16(scene.server.count), scene.server, shown)
        products = join(
            Ristretto.multiply(clientShare, by: serverPrivateShare),
            Ristretto.multiply(clientShare, by: privateKey),
            Ristretto.multiply(record.at(0, 32), by: serverPrivateShare))
        secret = hmacSHA512([], products)
        let hash = sha512(transcript)
        handshakeSecret = Self.expand(secret, "HandshakeSecret", hash)
        sessionKey = Self.expand(secret, "SessionKey", hash)
        serverCodeKey = Self.expand(handshakeSecret, "ServerMAC", [])
        clientCodeKey = Self.expand(handshakeSecret, "ClientMAC", [])
        serverCode = hmacSHA512(serverCodeKey, hash)
        lastMessage = hmacSHA512(clientCodeKey, sha512(transcript + serverCode))
        answer = shown + serverCode
    }

    private static func expand(_ secret: Bytes, _ label: String, _ context: Bytes) -> Bytes {
        let label = ascii("OPAQUE-\(label)")
        return expandSHA512(
            secret, join(u16(64), u8(UInt8(label.count)), label, u8(UInt8(context.count)), context), 64)
    }
}
