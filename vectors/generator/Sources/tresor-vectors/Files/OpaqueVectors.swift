// SPDX-License-Identifier: Apache-2.0

/// The computations of both sides of a log-in (SPEC §20), and the refusals of each.
struct OpaqueVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "opaque", section: "20", purpose: "log-in by password: records, log-ins, copies, and what each side refuses"
        )
        let vectors = Self(file: file)
        vectors.addElements()
        vectors.addEvaluations()
        vectors.addRecords()
        vectors.addAnswers()
        LoginCopyVectors(file: file).addCopies()
        LoginCopyVectors(file: file).addKnownLogins()
        return file
    }

    /// Three names at three services.
    static let scenes: [(comment: String, scene: LoginScene)] = {
        let anna = LoginScene(
            Draw(file: "opaque", id: 0), password: "correct horse battery staple", handle: "anna")
        var house = LoginScene(
            Draw(file: "opaque", id: 1), password: String(repeating: "p", count: 1024), handle: "dr-h\u{f6}use")
        (house.memoryKiB, house.passes) = (8, 3)
        var bare = LoginScene(Draw(file: "opaque", id: 2), password: "", handle: "")
        (bare.input, bare.identifier, bare.client, bare.server, bare.context) = ([], [], [], zeros(256), [])
        return [("a short password", anna), ("a long password", house), ("empty values", bare)]
    }()

    static let identity = zeros(32)
    /// RFC 9496 Appendix A.2: not canonical, negative, no square, a negative product, and s = -1.
    static let badElements = [
        "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
        "c34c4e1826e5d403b78e246e88aa051c36ccf0aafebffe137d148a2bf9104562",
        "c940e5a4404157cfb1628b108db051a8d439e1a421394ec4ebccb9ec92a8ac78",
        "47cfc5497c53dc8e61c91d17fd626ffb1c49e2bca94eed052281b510b1117a24",
        "f1c6165d33367351b0da8f6e4511010c68174a03b6581212c71c0e1d026c3c72",
        "87260f7a2f12495118360f02c26a470f450dadf34a413d21042b43b9d93e1309",
        "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
        "4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f",
        "de6a7b00deadc788eb6b6c8d20c0ae96c2f2019078fa604fee5b87d6e989ad7b",
        "bcab477be20861e01e4a0e295284146a510150d9817763caf1a6f4b422d67042",
        "2a292df7e32cababbd9de088d1d1abec9fc0440f637ed2fba145094dc14bea08",
        "f4a9e534fc0d216c44b218fa0c42d99635a0127ee2e53c712f70609649fdff22",
        "8268436f8c4126196cf64b3c7ddbda90746a378625f9813dd9b8457077256731",
        "2810e5cbc2cc4d4eece54f61c6f69758e289aa7ab440b3cbeaa21995c2f4232b",
        "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
        "a45fdc55c76448c049a1ab33f17023edfb2be3581e9c7aade8a6125215e04220",
        "d483fe813c6ba647ebbfd3ec41adca1c6130c2beeee9d9bf065c8d151c5f396e",
        "8a2e1d30050198c65a54483123960ccc38aef6848e1ec8f5f780e8523769ba32",
        "32888462f8b486c68ad7dd9610be5192bbeaf3b443951ac1a8118419d9fa097b",
        "227142501b9d4355ccba290404bde41575b037693cef1f438c47f8fbf35d1165",
        "5c37cc491da847cfeb9281d407efc41e15144c876e0170b499a96a22ed31e01e",
        "445425117cb8c90edcbc7c1cc0e74f747f2c1efa5630a967c64f287792a48a4b",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ].map(bytes)

    private static func bytes(_ text: String) -> Bytes {
        var (bytes, rest) = (Bytes(), text[...])
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// An element in place of another one: the identity, and two that are not canonical.
    private func addBadElements(_ name: String, base: Int, in input: (Bytes) -> Values) {
        invalid("the identity as \(name)", "IdentityElement", "altered", base: base, in: input(Self.identity))
        for index in [3, 8] {
            invalid("no element as \(name)", "NonCanonical", "altered", base: base, in: input(Self.badElements[index]))
        }
    }

    private func addLengths(_ name: String, _ bytes: Bytes, base: Int, error: String = "altered") {
        invalid("no bytes as \(name)", "Truncated", error, base: base, in: [name: []])
        invalid("a byte of \(name) is missing", "Truncated", error, base: base, in: [name: Bytes(bytes.dropLast())])
        invalid("a byte behind \(name)", "TrailingData", error, base: base, in: [name: bytes + [0]])
    }

    private func addElements() {
        group("readElement")
        var generator = Bytes()
        for factor: UInt8 in [1, 2, 15] {
            let element = Ristretto.publicKey([factor] + zeros(31))
            if factor == 1 { generator = element }
            valid("the generator \(factor) times", in: ["element": element], out: ["element": element])
        }
        invalid("the identity", "IdentityElement", "altered", base: 1, in: ["element": Self.identity])
        for element in Self.badElements {
            invalid("RFC 9496 A.2", "NonCanonical", "altered", base: 1, in: ["element": element])
        }
        addLengths("element", generator, base: 1)
    }

    private func addEvaluations() {
        group("evaluate")
        var first: Int?
        for (comment, scene) in Self.scenes {
            let id = valid(
                comment, in: Values(scene.secrets + [("blinded", .bytes(scene.blinded("registration")))]),
                mid: ["function seed": scene.functionSeed, "function key": scene.functionKey],
                out: ["evaluated": scene.evaluated("registration")])
            first = first ?? id
        }
        guard let base = first else { return }
        let scene = Self.scenes[0].scene
        addBadElements("blinded", base: base) { ["blinded": $0] }
        addLengths("blinded", scene.blinded("registration"), base: base)
        addLengths("oprf seed", scene.oprfSeed, base: base)
        addLengths("private key", scene.privateKey, base: base)
        invalid("zero as private key", "IdentityElement", "altered", base: base, in: ["private key": zeros(32)])
    }

    private func addRecords() {
        group("makeRecord")
        var first: Int?
        for (comment, scene) in Self.scenes {
            let envelope = scene.envelope
            let input: [(String, Datum)] = [
                ("input", .bytes(scene.input)), ("blind", .bytes(scene.blind("registration"))),
                ("evaluated", .bytes(scene.evaluated("registration"))), ("server key", .bytes(scene.serverKey)),
                ("envelope nonce", .bytes(scene.draw("envelope nonce", 32))),
            ]
            let id = valid(
                comment, in: Values(input + scene.names + scene.cost),
                mid: [
                    "input element": scene.inputElement, "unblinded": scene.unblinded, "oprf output": scene.output,
                    "stretched": scene.stretched, "randomized password": scene.randomizedPassword,
                    "masking key": scene.maskingKey, "client seed": envelope.seed,
                    "client private key": envelope.privateKey, "client public key": envelope.publicKey,
                    "auth key": envelope.authKey, "envelope": envelope.bytes,
                ],
                out: [
                    "blinded": scene.blinded("registration"), "record": scene.record,
                    "export key": envelope.exportKey,
                ])
            first = first ?? id
        }
        guard let base = first else { return }
        let scene = Self.scenes[0].scene
        addBadElements("evaluated", base: base) { ["evaluated": $0] }
        addLengths("evaluated", scene.evaluated("registration"), base: base)
        addBadElements("server key", base: base) { ["server key": $0] }
        addLengths("server key", scene.serverKey, base: base)
        invalid("an input of 65 536 bytes", "Oversize", "usage", base: base, in: ["input": zeros(65_536)])
    }

    private func addAnswers() {
        group("answerLogin")
        var bases: [Int] = []
        for (comment, scene) in Self.scenes {
            let exchange = LoginExchange(scene)
            let given: [(String, Datum)] = [
                ("record", .bytes(scene.record)), ("context", .bytes(scene.context)),
                ("first message", .bytes(exchange.firstMessage)),
                ("masking nonce", .bytes(scene.draw("masking nonce", 32))),
                ("server nonce", .bytes(scene.draw("server nonce", 32))),
                ("server share seed", .bytes(scene.draw("server share seed", 32))),
            ]
            let id = valid(
                comment, in: Values(scene.secrets + scene.names + given), mid: middle(exchange, of: scene),
                out: Self.answered(exchange))
            bases.append(id)
        }
        let (scene, base) = (Self.scenes[0].scene, bases[0])
        let exchange = LoginExchange(scene)
        let nobody = Self.nobody(scene)
        file.valid(
            "a name that nobody has: the answer has the same form", ["UnknownName"], base: base,
            in: ["record": nobody], out: Self.answered(LoginExchange(scene, record: nobody)))
        let (message, record) = (exchange.firstMessage, scene.record)
        addBadElements("blinded element", base: base) { ["first message": message.replacing(at: 0, with: $0)] }
        addBadElements("share of the client", base: base) { ["first message": message.replacing(at: 64, with: $0)] }
        addLengths("first message", message, base: base)
        addBadElements("public key of the client", base: base) { ["record": record.replacing(at: 0, with: $0)] }
        addLengths("record", record, base: base)
        invalid("a context of 65 536 bytes", "Oversize", "usage", base: base, in: ["context": zeros(65_536)])
        OpaqueClientVectors(file: file).add(answers: bases)
    }

    static func answered(_ exchange: LoginExchange) -> Values {
        ["answer": exchange.answer, "last message": exchange.lastMessage, "session key": exchange.sessionKey]
    }

    /// The record of a name that nobody has.
    static func nobody(_ scene: LoginScene) -> Bytes {
        join(
            Ristretto.publicKey(Ristretto.scalar(scene.draw("nobody", 64))), scene.draw("nobody's masking key", 64),
            zeros(96))
    }

    private func middle(_ exchange: LoginExchange, of scene: LoginScene) -> Values {
        [
            "function seed": scene.functionSeed, "function key": scene.functionKey, "pad": exchange.pad,
            "transcript": exchange.transcript, "transcript hash": sha512(exchange.transcript),
            "products": exchange.products, "secret": exchange.secret, "handshake secret": exchange.handshakeSecret,
            "server code key": exchange.serverCodeKey, "client code key": exchange.clientCodeKey,
            "server code": exchange.serverCode,
        ]
    }
}
