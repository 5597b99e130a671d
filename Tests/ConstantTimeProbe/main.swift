// SPDX-License-Identifier: Apache-2.0

import CProbe

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Runs under valgrind, where a branch or an address that depends on bytes marked as secret is an error. Ends with 0 if
/// there is none, and with 2 if valgrind would not have seen one.
enum ProbeUse: SealingUse {}

func hide(_ key: borrowing SecretKey<ProbeUse>) {
    key.span.withUnsafeBufferPointer { probe_mark_secret($0.baseAddress, 32) }
}

func show(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { probe_mark_public($0.baseAddress, bytes.count) }
}

/// The errors of one step, by its name.
func errors(_ step: String, _ body: () throws -> Void) rethrows -> Int {
    let before = probe_error_count()
    try body()
    let count = Int(probe_error_count()) - Int(before)
    print("\(step): \(count)")
    return count
}

/// That a branch on a secret would be seen.
func control() -> Int {
    let bytes = [UInt8](repeating: 1, count: 32)
    return errors("a branch on a secret byte") {
        bytes.withUnsafeBufferPointer { pointer in
            probe_mark_secret(pointer.baseAddress, 32)
            _ = pointer.baseAddress.map(probe_branch)
            probe_mark_public(pointer.baseAddress, 32)
        }
    }
}

/// Keys, shares and tags are compared.
func compare() throws -> Int {
    let one = try SecretKey<ProbeUse>()
    let other = try SecretKey<ProbeUse>()
    hide(one)
    hide(other)
    var isSame = true
    let count = errors("comparing keys") { isSame = one.matches(other) }
    probe_mark_public(&isSame, 1)
    return isSame ? -1 : count
}

func derive() throws -> Int {
    let key = try SecretKey<ProbeUse>()
    hide(key)
    let context: [UInt8] = [1, 2, 3]
    return try errors("deriving a key") {
        let derived: SecretKey<ProbeUse> = try key.derive(.identitySign, context: context.span)
        _ = derived.span.count
    }
}

func sealAndOpen() throws -> Int {
    let key = try SecretKey<ProbeUse>()
    let context: [UInt8] = [1, 2, 3]
    let plain = [UInt8](repeating: 7, count: 70_000)
    hide(key)
    return try errors("sealing and opening") {
        let sealed = try TC1.seal(plain.span, with: key, label: .fileSeal, context: context.span)
        show(sealed)
        show(try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span))
        _ = try TC1.openSecret(sealed.span, with: key, label: .fileSeal, context: context.span).count
        for index in [30, 100, 69_000] {
            var damaged = sealed
            damaged[index] ^= 1
            _ = try? TC1.open(damaged.span, with: key, label: .fileSeal, context: context.span)
        }
    }
}

/// The tags over an identity file and a snapshot are compared.
func compareTags() throws -> Int {
    let tags = try (0..<2).map { _ in try randomBytes(32) }
    let digests = tags.compactMap { Hash256($0) }
    var isSame = true
    let count = errors("comparing tags") {
        for tag in tags { tag.withUnsafeBufferPointer { probe_mark_secret($0.baseAddress, 32) } }
        for digest in digests {
            withUnsafeBytes(of: digest) { probe_mark_secret($0.baseAddress, $0.count) }
            isSame = constantTimeEqual(digest, digests[0])
        }
    }
    probe_mark_public(&isSame, 1)
    for tag in tags { show(tag) }
    return count
}

/// A payload is parsed up to its signature: the content decides nothing.
func decodePayload() throws -> Int {
    let author = try Identity.make(handle: Name(typed: "anna"), time: 1)
    let header = FileHeader(tresor: TresorID(.zero), epoch: 1, head: Head(sequence: 0, hash: .zero))
    let content = try randomBytes(5000)
    let payload = try FilePayload.encode(
        FileFields(
            Authorship(header: header, author: author.user, generation: 0, time: 1), type: Name(typed: "text/plain"),
            record: Name(typed: "plan"), origin: nil), content: content, signedBy: author)
    guard let start = payload.indices.first(where: { payload[$0...].starts(with: content) }) else { return -1 }
    return try errors("decoding a payload") {
        payload.withUnsafeBufferPointer { probe_mark_secret($0.baseAddress.map { $0 + start }, content.count) }
        let opened = try FilePayload(payload, header: header)
        show(payload)
        guard opened.content.count == content.count else { throw TresorError.failed(.other) }
        show(opened.content)
    }
}

func run() throws -> Int32 {
    try Sodium.start()
    let counts = [try compare(), try compareTags(), try derive(), try sealAndOpen(), try decodePayload()]
    return counts == [0, 0, 0, 0, 0] ? 0 : 1
}

guard probe_is_watched() == 1, control() > 0 else { probe_exit(2) }
do {
    probe_exit(try run())
} catch {
    probe_exit(3)
}
