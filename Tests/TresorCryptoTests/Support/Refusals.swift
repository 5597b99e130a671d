// SPDX-License-Identifier: Apache-2.0

@testable import TresorCrypto

enum TestUse: SealingUse {}
enum OtherUse: SealingUse {}

/// The error that `body` throws; `nil` when it returns.
func thrown(_ body: () throws(TresorError) -> Void) -> TresorError? {
    do throws(TresorError) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// The error with which both ways of opening refuse; `nil` when both open. Two ways that differ count as a failure of
/// the machine.
func openingError(
    _ sealed: [UInt8], with key: borrowing SecretKey<TestUse>, label: DomainLabel = .fileSeal, context: [UInt8] = []
) -> TresorError? {
    let plain = thrown { () throws(TresorError) in
        _ = try TC1.open(sealed.span, with: key, label: label, context: context.span)
    }
    let secret = thrown { () throws(TresorError) in
        _ = try TC1.openSecret(sealed.span, with: key, label: label, context: context.span)
    }
    return plain == secret ? plain : .failed(.other)
}

/// A key, or any secret, made of known bytes.
func secret(_ bytes: [UInt8]) throws(TresorError) -> SecretBytes {
    try SecretBytes(copying: bytes.span)
}

func key<Use: KeyUse>(_ bytes: [UInt8], as use: Use.Type = Use.self) throws(TresorError) -> SecretKey<Use> {
    try SecretKey(secret(bytes))
}

/// `count` bytes with a period that is no divisor of a chunk.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 251) }
}

func sealed(
    _ plaintext: [UInt8], with key: borrowing SecretKey<TestUse>, label: DomainLabel = .fileSeal, context: [UInt8] = []
) throws(TresorError) -> [UInt8] {
    try TC1.seal(plaintext.span, with: key, label: label, context: context.span)
}
