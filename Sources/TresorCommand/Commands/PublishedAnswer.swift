// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// An answer that others have published, and how to compute it here. The answers ask every primitive of the cryptographic
/// libraries, so that a wrong build of one is found.
struct PublishedAnswer: Sendable {
    let name: String
    /// In hexadecimal.
    let answer: String
    let compute: @Sendable () throws -> [UInt8]

    /// Whether the library gives the answer.
    func holds() -> Bool {
        guard let found = try? compute() else { return false }
        return Hex.text(found) == answer
    }

    static let all = [hash, widerHash, code, signature, encryption, password, group, wrap]

    private static let hash = PublishedAnswer(
        name: "BLAKE2b of RFC 7693",
        answer: """
            ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc95\
            18d38aa8dbf1925ab92386edd4009923
            """
    ) {
        var hash = try BLAKE2b(outputCount: 64)
        let message = Array("abc".utf8)
        try hash.update(message.span)
        return try hash.finalize()
    }

    private static let widerHash = PublishedAnswer(
        name: "SHA-512 of FIPS 180-2",
        answer: """
            ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd\
            454d4423643ce80e2a9ac94fa54ca49f
            """
    ) {
        try SHA512.hash(Array("abc".utf8))
    }

    private static let code = PublishedAnswer(
        name: "HMAC-SHA-512 of RFC 4231, test 2",
        answer: """
            164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
            caeab1a34d4a6b4b636e070a38bce737
            """
    ) {
        let code = try HMACSHA512.code(
            key: secret(Array("Jefe".utf8)), Array("what do ya want for nothing?".utf8))
        return code.span.publicBytes
    }

    /// Signs, and verifies what was signed.
    private static let signature = PublishedAnswer(
        name: "Ed25519 of RFC 8032, test 2",
        answer: """
            92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c\
            387b2eaeb4302aeeb00d291612bb0c00
            """
    ) {
        let seed = try bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
        let key = try SigningKey(seed: SecretKey(secret(seed)))
        let signature = try key.sign([0x72])
        try Ed25519.verify(signature, of: [0x72], by: key.publicKey)
        return signature
    }

    private static let encryption = PublishedAnswer(
        name: "ChaCha20-Poly1305 of RFC 8439, section 2.8.2",
        answer: """
            4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620492063\
            6f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73\
            637265656e20776f756c642062652069742e
            """
    ) {
        try KnownAnswers.openChaChaPoly(
            bytes(
                """
                d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b\
                1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
                3ff4def08e4b7a9de576d26586cec64b6116
                """),
            tag: bytes("1ae10b594f09e26a7e902ecbd0600691"), key: Array(0x80..<0xa0),
            nonce: bytes("070000004041424344454647"),
            associated: bytes("50515253c0c1c2c3c4c5c6c7"))
    }

    private static let password = PublishedAnswer(
        name: "Argon2id of libsodium's tests",
        answer: """
            7fb72409b0987f8190c3729710e98c3f80c5a8727d425fdcde7f3644d467fe973f5b5fee683bd3fce812cb9ae5e9921a\
            2d06c2f1905e4e839692f2b934b682f11a2fe2b90482ea5dd234863516dba6f52dc0702d324ec77d860c2e181f84472b\
            d7104fedce071ffa93c5309494ad51623d214447a7b2b1462dc7d5d55a1f6fd5b54ce024118d86f0c6489d16545aaa87\
            b6689dad9f2fb47fda9894f8e12b87d978b483ccd4cc5fd9595cdc7a818452f915ce2f7df95ec12b1c72e3788d473441\
            d884f9748eb14703c21b45d82fd667b85f5b2d98c13303b3fe76285531a826b6fc0fe8e3dddecf
            """
    ) {
        let password = try bytes("b540beb016a5366524d4605156493f9874514a5aa58818cd0c6dfffaa9e90205f17b")
        let hash = try Argon2id.hash(
            password: password.span, salt: bytes("44071f6d181561670bda728d43fb79b4"), outputCount: 231, passes: 1,
            memoryByteCount: 1_631_659)
        return hash.span.publicBytes
    }

    private static let group = PublishedAnswer(
        name: "ristretto255 of RFC 9497, A.1.1",
        answer: "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e"
    ) {
        let seed = try secret(Array(repeating: 0xa3, count: 32))
        let key = try OPRF.deriveKey(seed: seed, info: Array("test key".utf8))
        let element = try bytes("609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c")
        return try OPRF.evaluate(element.span, key: key)
    }

    /// ML-KEM-768 and X25519, their key derivation and the cipher of the other library.
    private static let wrap = PublishedAnswer(
        name: "HPKE with X-Wing of draft-ietf-hpke-pq",
        answer: """
            343236353631373537343739323036393733323037343732373537343638326332303734373237353734363832303632\
            36353631373537343739
            """
    ) {
        let opened = try KnownAnswers.openHPKE(
            seed: bytes("3ec47fa82dd5689d27c6190e724c74ec8f608df3331ce331929e37b829676630"),
            info: bytes("34663634363532303666366532303631323034373732363536333639363136653230353537323665"),
            encapsulated: bytes(encapsulated),
            messages: [(bytes("436f756e742d30"), bytes(sealed))])
        return opened.flatMap { $0 }
    }

    private static let sealed = """
        c5c591f99092d5e38df0a52699af249c66f8275a863423c076de8147a53e65cc584041c963b77a7e59ea93841b1339b5\
        efda8909b71f74bb0073ad62e899de310c1566dea2fd29eba377
        """
    private static let encapsulated = """
        26759c7b22923ea5cc9c78e3e14c8fc62dcb0a66ce44460966978a7fe9685e0c6d22999d99a3f112c307a6d5b2e63591\
        f41e8a3516ba62908376d664557206e696ae870305ff6ba08125266bc0765672beca90fd5c6dae0d3ddad1506065a9d4\
        f297e0c3e70bb441961df26d7a19d79d1ef7e2ac5e53b32a3c7b4e07f2af2ae65830a3e8d1cb2ac1932fc19ec5434303\
        b62c9d010645cf95a475913da5d77a282b88402e4a77ab17b09559dce8a96c67a27bea8f653ceaca3d278b6ed150fe93\
        6dda28b1726665c946cab30363ef89eb878ffcc74caa277a5dab1994193a67967125ebd50986dc16997b8f7484d7d0e2\
        7c79ff4b68201c1b4102f5a73322fd3da96bf655d90c9b1e6305e01ab1b3449ea3f458b0e98e1f2d1632825c3b30018b\
        b5eefbcc80f767d0b9e7f9f731e1958083879ebcc1b5bb061e89302c444a85eeed169b10d2520fd47b6a111914f3bda2\
        f31d04f250522ba951012a629fa2cd2192583cc9abd75d02b7a11fd18056c414b8f0e0936535bf9b637c7e614a1ae9b9\
        e907fe9d14243f13625ec92a97599eaa491b9da918b586e27d34c7279205dd76cf0ecdbf60b5aea4cfb9dca41069f3e2\
        fc8f371a7cf3b089ea469d8417bda3149159992399ccd5baf776a0f8966d4742cbedaeac131dde853cb1fbb7b869a4c0\
        1cea8a487a2e52e757bf4dfcec23995e5f088804d2cf99c82f087454144cc586845d7cf81249e7ad919ea1b06001ad13\
        501da118ee19859595015b4b1872912dd2d4f5dd854f144ae07038bd8bb2b498f8edcb1c70c2102af768d508a1b42372\
        38c0c6e34a9c819b0ebf28f49505d374095b2b58c7a810cf1e806cb3c79af3bc84c8b657787804e374df2b49be6ac510\
        d43024e65fd031540a7cd45c9348ad9f5511b969be6f9c4d849c1428f611225b0d9a3ae341669ba645baa877cdc34c39\
        f5975f4991a77f86eca2c25ebee63a06928c1bbc9513f35547645e835544c1e4a8f33d7f29c1cfbde6425fa05aeff69f\
        373aa8a281c92817cbe5be9305795354efc71a89462e87ce83919d679dcbfded88f7fff9177f4b49e8a959d9aa78b63f\
        eb99fa56735df0f4fc253653a9177f767b307bb2a9e7e4d9042f22cc6c4f177db80efaebfef8a3baa6f1423335c83030\
        8c2496118263f0bd361d93f8b4e75a7cba94c2af72dd13ee8926524cfe9df14f79165a3498b9fd631cbb874d25b11315\
        f9acb442512561cf7dc6098a08874fcc704cdd5e84e57811a49e78fbd56e5a8e767617321c295095595ea2b0f4aaca30\
        dd38749ab83532be1bdcf4c32a119e035558bb427dbdb806b4e15cea8df3c098728c2b5e40209c5138531db1b6607775\
        44e6a014477a7d1b93eb0f245fe9e7053997c10504ef692f21639c86d8926ddce6886d0c39eb7c59357ee54f81871019\
        593713f4a6df37bf7003358694cff59af9872ca02bf762e20499227dba2f552203459dcc69780ef08d9bab4140d96e1c\
        478f06b63b60c9bfb10d90e31d47570ea949ab8e9b99db6ec2f8a2a77dcb25cc36b733dfc09b8299a9d7b19e68c09ad8\
        2703f9b47d34d1a3cbafe42c73f57d0e
        """

    private static func bytes(_ text: String) throws(TresorError) -> [UInt8] {
        guard let bytes = Hex.bytes(text) else { throw .altered }
        return bytes
    }

    private static func secret(_ bytes: [UInt8]) throws(TresorError) -> SecretBytes {
        try SecretBytes(copying: bytes.span)
    }
}
