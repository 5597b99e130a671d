// SPDX-License-Identifier: Apache-2.0

/// A sealed file as it was received (SPEC §10). Only its header can be read; nothing in it is proved.
public struct SealedFile: Hashable, Sendable {
    /// The greatest size in bytes: 2^40.
    public static let maximumByteCount = 1 << 40

    /// What it claims.
    public let header: FileHeader
    /// The whole file in binary form.
    public let bytes: [UInt8]

    /// Takes a binary or armoured sealed file.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    public init(_ bytes: [UInt8]) throws(TresorError) {
        let binary = Armour.isArmoured(bytes) ? try Armour.file.dearmour(bytes) : bytes
        header = try FileHeader(start: binary)
        guard binary.count <= Self.maximumByteCount,
            let payload = TC1.openedByteCount(binary.count - FileHeader.byteCount), payload >= Padding.minimumByteCount
        else { throw .altered }
        self.bytes = binary
    }

    /// Looks at the beginning of a text or of bytes whose end has not been read, and may never come.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` where no sealed file begins so.
    package static func checkBeginning(_ start: [UInt8]) throws(TresorError) {
        let isArmoured = Armour.isArmoured(start)
        let bytes = isArmoured ? try Armour.file.beginning(of: start) : start
        // Of a text the whole lines alone are read, which may be fewer than the header takes.
        if isArmoured, bytes.count < FileHeader.byteCount { return }
        _ = try FileHeader(start: bytes)
    }

    /// The armoured form.
    public var armoured: [UInt8] { Armour.file.armour(bytes) }

    init(header: FileHeader, bytes: [UInt8]) {
        self.header = header
        self.bytes = bytes
    }
}
