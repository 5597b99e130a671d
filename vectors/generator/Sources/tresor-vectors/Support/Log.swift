// SPDX-License-Identifier: Apache-2.0

/// The keys of an epoch and its statement.
struct EpochSecret {
    let number: UInt64
    let tk: Bytes
    let hk: Bytes
    let statement: Bytes
    var backLink: Sealing?

    /// `Link` of SPEC §9.5.
    var link: Bytes { u64(number) + tk + hk }

    /// - Parameter links: the content of the back-link, possibly nothing; `nil` for no back-link.
    init(tresor: Bytes, number: UInt64, tk: Bytes, hk: Bytes, links: [Bytes]?, salt: Bytes) {
        self.number = number
        self.tk = tk
        self.hk = hk
        if let links {
            backLink = Sealing(
                hk, "tresor/v1/backlink-seal", tresor + u64(number), join(links), salt: salt)
        }
        statement = Self.statement(
            number: number, content: Self.commitment("tresor/v1/commit-tk", tresor, tk),
            history: Self.commitment("tresor/v1/commit-hk", tresor, hk), backLink: backLink?.bytes ?? [])
    }

    static func commitment(_ label: String, _ tresor: Bytes, _ key: Bytes) -> Bytes {
        hash(label, tresor + key)
    }

    static func statement(number: UInt64, content: Bytes, history: Bytes, backLink: Bytes) -> Bytes {
        join(u64(number), content, history, prefixed(backLink))
    }
}

/// The numbers of SPEC §9.2. The generator takes them from there, never from the product.
enum BodyType {
    static let genesis = 1
    static let grant = 2
    static let approve = 3
    static let refuse = 4
    static let remove = 5
    static let leave = 6
    static let renew = 7
    static let epoch = 8
    static let role = 9
    static let rename = 10
    static let withdrawn = 11
    static let approvers = 13
    /// The least number of an additive body.
    static let additive = 128
    static let commit = 128
    static let checkpoint = 129
    /// An additive body that no release knows.
    static let unknown = 130
}

/// Bodies of SPEC §9.2.
enum Body {
    static func root(founder: Bytes, cardHash: Bytes, random: Bytes) -> Bytes { join([1], founder, cardHash, random) }

    static func genesis(
        root: Bytes, chain: Bytes, approvers: [Bytes] = [], name: Bytes, epoch: Bytes
    ) -> (Int, Bytes) {
        (BodyType.genesis, join(root, prefixed(chain), Self.approvers(approvers).1, name, epoch))
    }

    static func grant(
        _ chains: [Bytes], role: UInt8, notAfter: UInt64 = 0, fromNow: (epoch: Bytes, name: Bytes)? = nil
    ) -> (Int, Bytes) {
        let people = join(chains.map { join([1], prefixed($0)) })
        let tail = fromNow.map { join([1], $0.epoch, $0.name) } ?? [0]
        return (BodyType.grant, join(u16(chains.count), people, [role], u64(notAfter), tail))
    }

    /// - Parameter chains: the card chain of each approver.
    static func approvers(_ chains: [Bytes], type: UInt8 = 3) -> (Int, Bytes) {
        (BodyType.approvers, join(u16(chains.count), join(chains.map { join([type], prefixed($0)) })))
    }

    static func approve(_ grant: Bytes, epoch: UInt64, _ releases: [Bytes]) -> (Int, Bytes) {
        (BodyType.approve, join(grant, u64(epoch), u16(releases.count), join(releases)))
    }

    static func refuse(_ grant: Bytes) -> (Int, Bytes) { (BodyType.refuse, grant) }

    static func remove(_ removed: [Bytes], epoch: Bytes) -> (Int, Bytes) {
        (BodyType.remove, users(removed) + epoch)
    }
    static let leave: (Int, Bytes) = (BodyType.leave, [])
    static func renew(_ card: Bytes) -> (Int, Bytes) { (BodyType.renew, prefixed(card)) }
    static func epoch(_ epoch: Bytes) -> (Int, Bytes) { (BodyType.epoch, epoch) }

    static func role(_ user: Bytes, _ role: UInt8, notAfter: UInt64 = 0) -> (Int, Bytes) {
        (BodyType.role, join([1], user, [role], u64(notAfter)))
    }

    static func rename(_ name: Bytes) -> (Int, Bytes) { (BodyType.rename, name) }

    /// - Parameter blobs: hash and size of each, or bytes in their place.
    static func commit(_ blobs: [Bytes], epoch: UInt64) -> (Int, Bytes) {
        (BodyType.commit, join(u64(epoch), u16(blobs.count), join(blobs)))
    }

    static func checkpoint(_ volumes: [Bytes], upto: UInt64, epoch: UInt64) -> (Int, Bytes) {
        (BodyType.checkpoint, join(u64(upto), u64(epoch), u16(volumes.count), join(volumes)))
    }

    /// `Blob` of SPEC §9.2; with another size than that of the bytes.
    static func blob(_ bytes: Bytes, count: Int? = nil) -> Bytes {
        hash("tresor/v1/blob-hash", bytes) + u64(UInt64(count ?? bytes.count))
    }

    private static func users(_ users: [Bytes]) -> Bytes { join(u16(users.count), join(users.map { join([1], $0) })) }
}

/// A history, written from the specification alone.
struct Log {
    let draw: Draw
    var founder: Person
    let root: Bytes
    let tresor: Bytes
    private(set) var entries: [Bytes] = []
    private(set) var epochs: [EpochSecret] = []
    var time: UInt64 = 1_767_312_000

    static let day: UInt64 = 86_400

    init(_ draw: Draw, founder: Person, tag: String = "") {
        self.draw = draw
        self.founder = founder
        root = Body.root(founder: founder.user, cardHash: founder.newest.hash, random: draw("root\(tag)", 32))
        tresor = hash("tresor/v1/tresor-id", root)
    }

    /// A log that begins with its genesis.
    static func begun(
        _ draw: Draw, founder: Person, tag: String = "", name: String = "interventions", approvers: [Person] = []
    ) -> Log {
        var log = Log(draw, founder: founder, tag: tag)
        let epoch = log.epoch(1, links: nil)
        log.append(
            founder,
            Body.genesis(
                root: log.root, chain: founder.chain, approvers: Person.byUser(approvers).map(\.chain),
                name: log.name(name, epoch: epoch, sequence: 0).bytes,
                epoch: epoch.statement), beginning: epoch)
        return log
    }

    var sequence: UInt64 { UInt64(entries.count) }
    var head: Bytes { entries.last.map { hash("tresor/v1/entry-hash", $0) } ?? zeros(32) }
    var current: EpochSecret { epochs[epochs.count - 1] }

    func head(at sequence: Int) -> (UInt64, Bytes) {
        (UInt64(sequence), hash("tresor/v1/entry-hash", entries[sequence]))
    }

    /// Fresh keys for an epoch.
    func epoch(_ number: UInt64, links: [Bytes]?, tag: String = "") -> EpochSecret {
        EpochSecret(
            tresor: tresor, number: number, tk: draw("TK_\(number)\(tag)", 32), hk: draw("HK_\(number)\(tag)", 32),
            links: links, salt: draw("back_link salt \(number)\(tag)", 24))
    }

    func nextEpoch(tag: String = "") -> EpochSecret {
        epoch(UInt64(epochs.count + 1), links: [current.link], tag: tag)
    }

    static func namePlaintext(_ name: Bytes, _ kind: Bytes) -> Bytes {
        join(u16(name.count), name, zeros(256 - name.count), u16(kind.count), kind, zeros(256 - kind.count))
    }

    func name(_ name: String, kind: String = "", epoch: EpochSecret, sequence: UInt64) -> Sealing {
        Sealing(
            epoch.tk, "tresor/v1/name-seal", tresor + u64(epoch.number) + u64(sequence),
            Self.namePlaintext(ascii(name), ascii(kind)), salt: draw("name salt \(sequence)", 24))
    }

    /// The bytes that the signature of an entry covers.
    func signed(
        _ author: Person, _ body: (Int, Bytes), tresor: Bytes? = nil, sequence: UInt64? = nil, previous: Bytes? = nil,
        generation: Int? = nil, time: UInt64? = nil
    ) -> Bytes {
        join(
            preamble("tresorE1"), tresor ?? self.tresor, u64(sequence ?? self.sequence), previous ?? head, author.user,
            u32(generation ?? author.generation), u64(time ?? self.time), u16(body.0), prefixed(body.1))
    }

    func entry(
        _ author: Person, _ body: (Int, Bytes), tresor: Bytes? = nil, sequence: UInt64? = nil, previous: Bytes? = nil,
        generation: Int? = nil, time: UInt64? = nil, signedBy signer: Person? = nil
    ) -> Bytes {
        let signed = signed(
            author, body, tresor: tresor, sequence: sequence, previous: previous, generation: generation, time: time)
        let signer = signer ?? author
        return signed
            + signer.sign(
                "tresor/v1/entry-signature", signed, generation: min(generation ?? signer.generation, signer.generation)
            )
    }

    mutating func append(
        _ author: Person, _ body: (Int, Bytes), generation: Int? = nil, beginning epoch: EpochSecret? = nil
    ) {
        append(entry(author, body, generation: generation), beginning: epoch)
    }

    mutating func append(_ entry: Bytes, beginning epoch: EpochSecret? = nil) {
        entries.append(entry)
        if let epoch { epochs.append(epoch) }
        time += Self.day
    }

    mutating func grant(_ people: [Person], role: UInt8, notAfter: UInt64 = 0, by author: Person? = nil) {
        let sorted = people.sorted { $0.user.lexicographicallyPrecedes($1.user) }
        append(author ?? founder, Body.grant(sorted.map(\.chain), role: role, notAfter: notAfter))
    }

    mutating func grantFromNow(_ people: [Person], role: UInt8, by author: Person? = nil) {
        let next = nextEpoch()
        let sorted = people.sorted { $0.user.lexicographicallyPrecedes($1.user) }
        append(
            author ?? founder,
            Body.grant(
                sorted.map(\.chain), role: role,
                fromNow: (next.statement, name("interventions", epoch: next, sequence: sequence).bytes)),
            beginning: next)
    }

    mutating func remove(_ people: [Person], by author: Person? = nil) {
        let next = nextEpoch()
        append(
            author ?? founder,
            Body.remove(people.map(\.user).sorted { $0.lexicographicallyPrecedes($1) }, epoch: next.statement),
            beginning: next)
    }

    mutating func rotate(by author: Person? = nil) {
        let next = nextEpoch()
        append(author ?? founder, Body.epoch(next.statement), beginning: next)
    }

    /// `KeptLog` of SPEC §9.8.
    var kept: Bytes { join(preamble("tresorL1"), join(entries.map { prefixed($0) })) }
}

/// The approval of SPEC §9.11, written from the specification alone.
enum Approval {
    static func key(_ epoch: EpochSecret, tresor: Bytes) -> Bytes {
        derive(epoch.hk, "tresor/v1/approval-key", tresor + u64(epoch.number))
    }

    static func key(_ epoch: EpochSecret, tresor: Bytes, of user: Bytes) -> Bytes {
        derive(key(epoch, tresor: tresor), "tresor/v1/approval-member", user)
    }

    static func approverInfo(tresor: Bytes, epoch: UInt64, user: Bytes, cardHash: Bytes) -> Bytes {
        join(prefixed(ascii("tresor/v1/approval-wrap")), tresor, u64(epoch), user, cardHash)
    }

    static func releaseInfo(tresor: Bytes, grant: Bytes, epoch: UInt64, user: Bytes, cardHash: Bytes) -> Bytes {
        join(prefixed(ascii("tresor/v1/approval-release")), tresor, grant, u64(epoch), user, cardHash)
    }

    /// `Release`: the keys of the epochs from `first` on.
    static func release(
        _ log: Log, grant: Bytes, to person: Person, from first: UInt64? = nil, generation: Int? = nil,
        keys wrong: Bytes? = nil, eseed: Bytes
    ) -> (bytes: Bytes, keys: Bytes, hpke: HPKEWrapping, info: Bytes) {
        let generation = generation ?? person.generation
        let current = log.current.number
        let keys = join(
            ((first ?? current)...current).map { number in
                key(log.epochs[Int(number) - 1], tresor: log.tresor, of: person.user)
            })
        let card = person.generations[generation]
        let info = releaseInfo(
            tresor: log.tresor, grant: grant, epoch: current, user: person.user, cardHash: card.hash)
        let hpke = HPKEWrapping(card.kemKey, info: info, plaintext: wrong ?? keys, eseed: eseed)
        let bytes = join([1], person.user, u32(generation), hpke.enc, u16(hpke.ciphertext.count), hpke.ciphertext)
        return (bytes, wrong ?? keys, hpke, info)
    }

    static func waitingWrap(
        _ epoch: EpochSecret, tresor: Bytes, for person: Person, generation: Int? = nil, history: Bool = true,
        key: Bytes? = nil, salt: Bytes, eseed: Bytes
    ) -> (bytes: Bytes, sealed: Sealing) {
        let generation = generation ?? person.generation
        let card = person.generations[generation]
        let sealed = Sealing(
            key ?? self.key(epoch, tresor: tresor, of: person.user), "tresor/v1/approval-seal",
            join(tresor, u64(epoch.number), person.user), epoch.tk + (history ? epoch.hk : []), salt: salt)
        let info = Wrapping.info(tresor: tresor, epoch: epoch.number, user: person.user, cardHash: card.hash)
        let hpke = HPKEWrapping(card.kemKey, info: info, plaintext: sealed.bytes, eseed: eseed)
        let bytes = Wrapping.encode(
            tresor: tresor, epoch: epoch.number, user: person.user, generation: generation, enc: hpke.enc,
            ct: hpke.ciphertext)
        return (bytes, sealed)
    }

    static func approverWrap(
        _ epoch: EpochSecret, tresor: Bytes, for person: Person, generation: Int? = nil, eseed: Bytes
    ) -> (bytes: Bytes, hpke: HPKEWrapping, info: Bytes) {
        let generation = generation ?? person.generation
        let card = person.generations[generation]
        let info = approverInfo(tresor: tresor, epoch: epoch.number, user: person.user, cardHash: card.hash)
        let hpke = HPKEWrapping(card.kemKey, info: info, plaintext: key(epoch, tresor: tresor), eseed: eseed)
        let bytes = Wrapping.encode(
            tresor: tresor, epoch: epoch.number, user: person.user, generation: generation, enc: hpke.enc,
            ct: hpke.ciphertext)
        return (bytes, hpke, info)
    }
}

extension Person {
    static func byUser(_ people: [Person]) -> [Person] {
        people.sorted { $0.user.lexicographicallyPrecedes($1.user) }
    }
}

/// A member's wrap, with every step.
struct Wrapping {
    let info: Bytes
    let plaintext: Bytes
    let hpke: HPKEWrapping
    let bytes: Bytes

    init(
        _ epoch: EpochSecret, tresor: Bytes, for person: Person, generation: Int? = nil, history: Bool = true,
        eseed: Bytes
    ) {
        let generation = generation ?? person.generation
        let card = person.generations[generation]
        info = Self.info(tresor: tresor, epoch: epoch.number, user: person.user, cardHash: card.hash)
        plaintext = epoch.tk + (history ? epoch.hk : [])
        hpke = HPKEWrapping(card.kemKey, info: info, plaintext: plaintext, eseed: eseed)
        bytes = Self.encode(
            tresor: tresor, epoch: epoch.number, user: person.user, generation: generation, enc: hpke.enc,
            ct: hpke.ciphertext)
    }

    static func info(tresor: Bytes, epoch: UInt64, user: Bytes, cardHash: Bytes) -> Bytes {
        join(prefixed(ascii("tresor/v1/epoch-wrap")), tresor, u64(epoch), user, cardHash)
    }

    static func encode(
        tresor: Bytes, epoch: UInt64, user: Bytes, generation: Int, enc: Bytes, ct: Bytes
    ) -> Bytes {
        join(ascii("tresorW1"), [1], tresor, u64(epoch), user, u32(generation), enc, u16(ct.count), ct)
    }
}
