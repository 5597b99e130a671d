// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// A received sealed file (SPEC §10). Only its header is readable; nothing in it is proved.
public struct SealedFile: Hashable, Sendable {
    /// The maximum size in bytes: 2^40.
    package static let maximumByteCount = 1 << 40

    /// The header, a claim.
    package let header: FileHeader
    /// The tresor that the file claims to be of. Nothing proves it before the file is opened.
    public var tresor: TresorID { header.tresor }
    /// The whole file in binary form.
    package let bytes: [UInt8]

    /// Reads a binary or armoured sealed file.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    public init(_ bytes: some Collection<UInt8>) throws(TresorError) { try self.init(Array(bytes)) }

    /// Reads a binary or armoured sealed file.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        try self.init(binary: Armour.isArmoured(bytes) ? try Armour.file.dearmour(bytes) : bytes)
    }

    /// Reads a binary sealed file.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(binary: [UInt8]) throws(TresorError) {
        header = try FileHeader(start: binary)
        guard binary.count <= Self.maximumByteCount,
            let payload = TC1.openedByteCount(binary.count - FileHeader.byteCount), payload >= Padding.minimumByteCount
        else { throw .altered }
        self.bytes = binary
    }

    /// Reads the header from the beginning of a binary or armoured file whose end may never arrive.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` if no sealed file begins this way.
    package static func checkBeginning(_ start: [UInt8]) throws(TresorError) {
        let isArmoured = Armour.isArmoured(start)
        let bytes = isArmoured ? try Armour.file.beginning(of: start) : start
        // Of a text only the whole lines are read, which may be fewer than the header takes.
        if isArmoured, bytes.count < FileHeader.byteCount { return }
        _ = try FileHeader(start: bytes)
    }

    /// The armoured form.
    package var armoured: [UInt8] { Armour.file.armour(bytes) }

    init(header: FileHeader, bytes: [UInt8]) {
        self.header = header
        self.bytes = bytes
    }
}
