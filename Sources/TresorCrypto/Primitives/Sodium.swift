// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// The start-up check of libsodium, which is linked at run time (SPEC §5.1).
package enum Sodium {
    private static let state: Result<Void, TresorError> = check()

    /// Initializes libsodium and proves that it follows suite 1.
    ///
    /// Runs once in a process: `sodium_init` succeeds. Of the published edge-case signatures the expected one verifies,
    /// and the two that need a cofactored rule do not. A point outside the main subgroup is refused (CVE-2025-69277).
    /// Every function of this module that needs the library calls this first.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `library` when any of these checks fails.
    package static func start() throws(TresorError) {
        try state.get()
    }

    private static func check() -> Result<Void, TresorError> {
        guard sodium_init() >= 0, followsSuite else { return .failure(.failed(.library)) }
        return .success(())
    }

    private static var followsSuite: Bool {
        accepts(cofactorless) && !accepts(cofactoredOnly) && !accepts(cofactoredPrehash)
            && !acceptsPoint(mixedOrderPoint)
    }

    private static func accepts(_ example: EdgeCase) -> Bool {
        unsafe crypto_sign_verify_detached(
            example.signature, example.message, UInt64(example.message.count), example.key) == 0
    }

    private static func acceptsPoint(_ point: [UInt8]) -> Bool {
        unsafe crypto_core_ed25519_is_valid_point(point) == 1
    }

    private struct EdgeCase {
        let message: [UInt8]
        let key: [UInt8]
        let signature: [UInt8]

        init(message: StaticString, key: StaticString, signature: StaticString) {
            self.message = Hex.bytes(message.description) ?? []
            self.key = Hex.bytes(key.description) ?? []
            self.signature = Hex.bytes(signature.description) ?? []
        }
    }

    /// Number 3, counted from 0, of "Taming the many EdDSAs": mixed-order A and R that satisfy the equation without a
    /// cofactor.
    private static let cofactorless = EdgeCase(
        message: "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
        key: "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        signature: """
            9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f\
            87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009
            """)
    /// Number 4: verifies only with a cofactor.
    private static let cofactoredOnly = EdgeCase(
        message: "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        key: "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        signature: """
            160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed512\
            5ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09
            """)
    /// Number 5: verifies only with a cofactor applied before the reduction.
    private static let cofactoredPrehash = EdgeCase(
        message: "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        key: "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        signature: """
            21122a84e0b5fca4052f5b1235c80a537878b38f3142356b2c2384ebad4668b7\
            e40bc836dac0f71076f9abe3a53f9c03c1ceeeddb658d0030494ace586687405
            """)
    /// The base point plus the point of order two.
    private static let mixedOrderPoint =
        Hex.bytes("9599999999999999999999999999999999999999999999999999999999999999") ?? []
}

/// Lower-case hexadecimal, for public bytes.
package enum Hex {
    /// The text of `bytes`.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of `text`; `nil` unless it is pairs of lower-case hexadecimal digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x61...0x66: digit - 0x61 + 10
            default: nil
            }
        }
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

/// Draws `count` public random bytes from the system's generator, for salts and identifiers.
package func randomBytes(_ count: Int) throws(TresorError) -> [UInt8] {
    try Sodium.start()
    return unsafe [UInt8](unsafeUninitializedCapacity: max(1, count)) { buffer, filled in
        if let base = buffer.baseAddress { unsafe randombytes_buf(base, count) }
        filled = count
    }
}

/// Overwrites bytes in a way that compilers keep.
@unsafe package func wipe(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    guard let base = bytes.baseAddress else { return }
    unsafe sodium_memzero(base, bytes.count)
}
