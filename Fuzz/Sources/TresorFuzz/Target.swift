// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The targets for hostile bytes. Each accepts or throws a `TresorError`; an accepted object must encode to the same
/// bytes.
enum Target: String, CaseIterable {
    case card, identity, entry, wrap, file, payload, armour, number, kit, name, password, home, fold, arguments

    func run(_ bytes: [UInt8]) throws {
        switch self {
        case .card: try same(CardChain(bytes).bytes, bytes)
        case .identity: try same(IdentityFile(bytes).bytes, bytes)
        case .entry:
            let entry = try Entry(bytes)
            try same(entry.bytes, bytes)
            // The entry does not read its body.
            if let body = try? entry.body { try same(body.bytes, Array(bytes[132..<(bytes.count - 64)])) }
        case .wrap: try same(UnverifiedWrap(bytes).bytes, bytes)
        case .file: try file(bytes)
        case .payload: _ = try FilePayload(bytes, header: Samples.shared.file.header)
        case .armour: try armour(bytes)
        case .number: try number(bytes)
        case .kit: try kit(bytes)
        case .name: try name(bytes)
        case .password: _ = try Password(typed: SecretBytes(copying: bytes.span))
        case .home: try home(bytes)
        case .fold: fold(bytes)
        case .arguments: CommandLineRun.shared.run(bytes)
        }
    }

    private func same(_ encoded: [UInt8], _ bytes: [UInt8]) throws {
        guard encoded == bytes else { fatalError("\(self): two encodings of one object") }
    }

    private func file(_ bytes: [UInt8]) throws {
        let file = try SealedFile(bytes)
        if !Armour.isArmoured(bytes) { try same(file.bytes, bytes) }
        let samples = Samples.shared
        guard let keys = samples.keys[file.header.epoch] else { return }
        guard let opened = try? FileOpener.openFile(file, with: keys, in: samples.state) else { return }
        guard samples.contents.contains(opened.content) else { fatalError("a forged file opened") }
    }

    /// A stream decodes an armoured text as the function for whole texts does.
    private func stream(_ bytes: [UInt8]) throws {
        let whole = try? Armour.file.dearmour(bytes)
        // A stream needs the whole text, and checks the lines between during the reading.
        let streamed = waiting { () -> [UInt8]? in
            guard let source = try? await ArmouredSource(MemorySource(bytes)) else { return nil }
            return try? await source.bytes(0..<source.byteCount)
        }
        if let streamed { guard streamed == whole else { fatalError("armour: two readers of one text") } }
    }

    /// Blocks the fuzzer's thread until asynchronous work is done.
    private func waiting<Value: Sendable>(_ work: @escaping @Sendable () async -> Value?) -> Value? {
        let value = Mutex<Value?>(nil)
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            let result = await work()
            value.withLock { $0 = result }
            end.signal()
        }
        end.wait()
        return value.withLock { $0 }
    }

    private func armour(_ bytes: [UInt8]) throws {
        for armour in [Armour.card, .file] {
            guard let binary = try? armour.dearmour(bytes) else { continue }
            let again = armour.armour(binary)
            let plain = bytes.filter { $0 != 0x0d }
            guard again == plain else { fatalError("armour: two texts of one object") }
        }
        try stream(bytes)
        let binary = try Armour.file.dearmour(Armour.file.armour(bytes))
        try same(binary, bytes)
    }

    private func number(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        if let values = Base32.values(text) { precondition(values.allSatisfy { $0 < 32 }) }
        _ = Base32.prefixBytes(text)
        if let number = try? SafetyNumber(typed: text) {
            guard try SafetyNumber(typed: number.grouped) == number else { fatalError("number: not itself") }
        }
        guard let digest = Hash256(Array(bytes.prefix(32))) else { return }
        let number = SafetyNumber(digest)
        guard number.digits.utf8.count == 30, try SafetyNumber(typed: number.grouped) == number else {
            fatalError("number: not 30 digits")
        }
    }

    private func kit(_ bytes: [UInt8]) throws {
        let typed = try SecretBytes(copying: bytes.span)
        _ = RecoveryKit.firstUnknownWord(in: typed)
        _ = RecoveryKit.isWord(String(decoding: bytes, as: UTF8.self))
        let kit = try RecoveryKit(typed: typed)
        let words = try kit.words()
        let again = try RecoveryKit(typed: words)
        guard kit.key.matches(again.key) else { fatalError("kit: not itself") }
    }

    private func name(_ bytes: [UInt8]) throws {
        if let name = try? Name(bytes) { try same(name.bytes, bytes) }
        let name = try Name(text: String(decoding: bytes, as: UTF8.self))
        guard try Name(name.bytes) == name else { fatalError("name: a writer's name that no reader takes") }
    }

    private func home(_ bytes: [UInt8]) throws {
        if let pins = try? Pins(bytes) { try same(pins.bytes, bytes) }
        if let heads = try? PinnedHeads(bytes) { try same(heads.bytes, bytes) }
        if let log = try? LogCopy(bytes) { try same(log.bytes, bytes) }
        if let wraps = try? KeptWraps(bytes) { try same(wraps.bytes, bytes) }
        if let stores = try? NotedStores(bytes) { try same(stores.bytes, bytes) }
        if let export = try? TresorExport(bytes) { try same(export.bytes, bytes) }
        if let marks = try? Marks(bytes) { try same(marks.bytes, bytes) }
        if let journal = try? CleanupJournal(bytes) { try same(journal.bytes, bytes) }
        if let mailbox = try? DeviceMailbox(bytes) { try same(mailbox.bytes, bytes) }
        try names(bytes)
        // The bytes before the tag of a snapshot.
        var decoder = ByteDecoder(bytes)
        if let state = try? LogState(from: &decoder) {
            var encoder = ByteEncoder()
            state.encode(into: &encoder)
            try same(encoder.bytes, Array(bytes.prefix(decoder.offset)))
        }
        _ = try DeviceShare(SecretBytes(copying: bytes.span))
    }

    /// Objects inside two seals that only their owner can make.
    private func names(_ bytes: [UInt8]) throws {
        let samples = Samples.shared
        let sealed = try samples.anna.sealForHome(bytes, .namesSeal)
        if let names = try? KnownNames(sealed, of: samples.anna) {
            let again = try names.sealed(for: samples.anna)
            try same(try samples.anna.openFromHome(again, .namesSeal), bytes)
        }
        guard let keys = samples.keys[1], bytes.count == SealedName.plainByteCount else { return }
        let place = Array(samples.state.tresor.digest.bytes) + bigEndianBytes(UInt64(1)) + bigEndianBytes(UInt64(0))
        let name = try TC1.seal(bytes.span, with: keys.content, label: .nameSeal, context: place.span)
        var decoder = ByteDecoder(name)
        _ = try? SealedName(from: &decoder).open(
            with: keys.content, tresor: samples.state.tresor, epoch: 1, sequence: 0)
    }

    /// A log whose entries need no signature, so that the fuzzer reaches the rules.
    private func fold(_ bytes: [UInt8]) {
        var decoder = ByteDecoder(bytes)
        var fold = Fold(tresor: Samples.shared.state.tresor)
        while let bytes = try? decoder.vector32(0...Entry.maximumByteCount) {
            guard let entry = try? Entry(bytes) else { continue }
            let before = fold.state
            let signature = signingKey(of: entry, in: before).map { Fold.SignatureCheck(key: $0, holds: true) }
            if (try? fold.apply(entry, signature: signature)) == nil, let before, fold.state?.head != before.head {
                fatalError("fold: a refused entry changed the state")
            }
        }
        guard let state = fold.state else { return }
        guard state.members.values.contains(where: { $0.role == .owner }), state.epoch >= 1 else {
            fatalError("fold: a tresor without an owner")
        }
    }

    /// The key that should sign the entry.
    private func signingKey(of entry: Entry, in state: LogState?) -> Hash256? {
        var chain = state?.chain(of: entry.author)
        if case .genesis(let genesis) = try? entry.body { chain = genesis.founder }
        return chain?.card(generation: entry.generation)?.signingKey
    }
}
