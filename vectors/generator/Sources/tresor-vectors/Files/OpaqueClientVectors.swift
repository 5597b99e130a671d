// SPDX-License-Identifier: Apache-2.0

/// The client's end of a log-in, and the server's last check (SPEC §20.4).
struct OpaqueClientVectors: TestWriter {
    let file: VectorFile

    /// - Parameter answers: the tests that make the answers.
    func add(answers: [Int]) {
        group("finishLogin")
        var bases: [Int] = []
        for (comment, scene) in OpaqueVectors.scenes { bases.append(addLogin(comment, scene)) }
        let scene = OpaqueVectors.scenes[0].scene
        addValues(scene, base: bases[0])
        addServers(scene, base: bases[0])
        addChanges(LoginExchange(scene).answer, base: bases[0])
        addLastChecks(base: answers[0])
    }

    private func addLogin(_ comment: String, _ scene: LoginScene) -> Int {
        let (exchange, envelope) = (LoginExchange(scene), scene.envelope)
        let given: [(String, Datum)] = [
            ("input", .bytes(scene.input)), ("blind", .bytes(scene.blind("log-in"))),
            ("client nonce", .bytes(scene.draw("client nonce", 32))),
            ("share seed", .bytes(scene.draw("client share seed", 32))), ("answer", .bytes(exchange.answer)),
            ("context", .bytes(scene.context)),
        ]
        return valid(
            comment, in: Values(given + scene.names + scene.cost),
            mid: [
                "input element": scene.inputElement, "unblinded": scene.unblinded, "oprf output": scene.output,
                "stretched": scene.stretched, "randomized password": scene.randomizedPassword,
                "masking key": scene.maskingKey, "pad": exchange.pad, "client seed": envelope.seed,
                "client private key": envelope.privateKey, "client public key": envelope.publicKey,
                "auth key": envelope.authKey, "envelope": envelope.bytes,
                "client private share": exchange.clientPrivateShare, "transcript": exchange.transcript,
                "transcript hash": sha512(exchange.transcript), "products": exchange.products,
                "secret": exchange.secret, "handshake secret": exchange.handshakeSecret,
                "server code key": exchange.serverCodeKey, "client code key": exchange.clientCodeKey,
                "server code": exchange.serverCode,
            ],
            out: [
                "first message": exchange.firstMessage, "last message": exchange.lastMessage,
                "record": scene.record, "export key": envelope.exportKey, "session key": exchange.sessionKey,
            ])
    }

    private func refuse(_ comment: String, _ flag: String, _ error: String, _ base: Int, _ input: Values) {
        invalid(comment, flag, error, base: base, in: input)
    }

    /// The differences from the registration or from the server's own.
    private func addValues(_ scene: LoginScene, base: Int) {
        let other = LoginScene(scene.draw, password: "correct house battery staple", handle: "anna")
        refuse("another password", "WrongPassword", "wrong_password", base, ["input": other.input])
        refuse("another name of the client", "WrongContext", "wrong_password", base, ["client name": ascii("bert")])
        refuse("another name of the server", "WrongContext", "wrong_password", base, ["server name": zeros(32)])
        refuse("more passes", "WrongContext", "wrong_password", base, ["passes": u32(2)])
        refuse("more memory", "WrongContext", "wrong_password", base, ["memory_kib": u32(128)])
        refuse("another blind", "WrongKey", "wrong_password", base, ["blind": scene.blind("registration")])
        refuse("zero as blind", "IdentityElement", "altered", base, ["blind": zeros(32)])
        refuse("another context", "WrongContext", "altered", base, ["context": scene.context + [0]])
        refuse("another nonce of the client", "WrongContext", "altered", base, ["client nonce": zeros(32)])
        refuse("another share of the client", "WrongKey", "altered", base, ["share seed": zeros(32)])
    }

    /// Servers that lack something.
    private func addServers(_ scene: LoginScene, base: Int) {
        func refuse(_ comment: String, _ flag: String, _ error: String, _ exchange: LoginExchange) {
            self.refuse(comment, flag, error, base, ["answer": exchange.answer])
        }
        refuse(
            "a name that nobody has", "UnknownName", "wrong_password",
            LoginExchange(scene, record: OpaqueVectors.nobody(scene)))
        let thief = Ristretto.scalar(scene.draw("thief", 64))
        refuse(
            "a server without the private key", "WrongServer", "altered", LoginExchange(scene, privateKey: thief))
        refuse(
            "a server that shows a key of its own", "WrongServer", "wrong_password",
            LoginExchange(scene, privateKey: thief, shownKey: Ristretto.publicKey(thief)))
        let record = scene.record
        refuse(
            "a server with another client's public key", "WrongServer", "altered",
            LoginExchange(scene, record: record.replacing(at: 0, with: Ristretto.publicKey(thief))))
        refuse(
            "a server with another masking key", "WrongServer", "wrong_password",
            LoginExchange(scene, record: record.flipped(at: 32)))
    }

    /// Each field of the answer, changed.
    private func addChanges(_ answer: Bytes, base: Int) {
        func refuse(_ comment: String, _ flag: String, _ error: String, _ answer: Bytes) {
            self.refuse(comment, flag, error, base, ["answer": answer])
        }
        let generator = Ristretto.publicKey([1] + zeros(31))
        for (name, place, error) in [
            ("evaluated element", 0, "wrong_password"), ("share of the server", 224, "altered"),
        ] {
            refuse("another \(name)", "WrongKey", error, answer.replacing(at: place, with: generator))
            refuse(
                "the identity as \(name)", "IdentityElement", "altered",
                answer.replacing(at: place, with: OpaqueVectors.identity))
            for index in [3, 8] {
                refuse(
                    "no element as \(name)", "NonCanonical", "altered",
                    answer.replacing(at: place, with: OpaqueVectors.badElements[index]))
            }
        }
        for (name, first, last, error) in [
            ("masking nonce", 32, 63, "wrong_password"), ("masked public key", 64, 95, "wrong_password"),
            ("masked nonce of the envelope", 96, 127, "wrong_password"),
            ("masked tag of the envelope", 128, 191, "wrong_password"), ("nonce of the server", 192, 223, "altered"),
            ("code of the server", 256, 319, "altered"),
        ] {
            let flag = name.hasSuffix("nonce") ? "WrongContext" : "ModifiedTag"
            refuse("the first byte of the \(name)", flag, error, answer.flipped(at: first))
            refuse("the last byte of the \(name)", flag, error, answer.flipped(at: last, bit: 0x80))
        }
        refuse("no answer", "Truncated", "altered", [])
        refuse("a byte of the answer is missing", "Truncated", "altered", Bytes(answer.dropLast()))
        refuse("a byte behind the answer", "TrailingData", "altered", answer + [0])
    }

    private func addLastChecks(base: Int) {
        group("checkLogin")
        let exchange = LoginExchange(OpaqueVectors.scenes[0].scene)
        let last = exchange.lastMessage
        file.valid(
            "the last message", base: base, in: ["last message": last], out: ["session key": exchange.sessionKey])
        refuse("the first byte of it", "ModifiedTag", "wrong_password", base, ["last message": last.flipped(at: 0)])
        refuse("the last byte of it", "ModifiedTag", "wrong_password", base, ["last message": last.flipped(at: 63)])
        refuse("the code of the server", "WrongKey", "wrong_password", base, ["last message": exchange.serverCode])
        refuse("no message", "Truncated", "wrong_password", base, ["last message": []])
        refuse("a byte is missing", "Truncated", "wrong_password", base, ["last message": Bytes(last.dropLast())])
        refuse("a byte behind it", "TrailingData", "wrong_password", base, ["last message": last + [0]])
    }
}
