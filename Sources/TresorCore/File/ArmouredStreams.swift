// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A sink that armours a sealed file (SPEC §4.2). Call ``finish()`` after the last byte.
package struct ArmouringSink<Base: ByteSink>: ByteSink {
    /// The sink of the text.
    package private(set) var base: Base
    private var encoder = Armour.Encoder(.file)

    /// Sends the text to `base`.
    package init(_ base: Base) { self.base = base }

    /// Takes the next bytes of the binary form.
    public mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + bytes.count / 48 + 128)
        encoder.append(bytes, to: &text)
        try await base.write(text.span)
    }

    /// Writes the remaining bytes and the end line.
    ///
    /// - Throws: the errors of the base.
    package mutating func finish() async throws(TresorError) {
        var text: [UInt8] = []
        encoder.finish(to: &text)
        try await base.write(text.span)
    }
}

/// The binary form of a stored armoured file, at any place. Every line is checked as by ``Armour/dearmour(_:)``;
/// opening a file reads all lines.
package struct ArmouredSource<Base: SealedSource>: SealedSource {
    /// The size of the binary form.
    public let byteCount: Int
    private let base: Base
    private let layout: Armour.Layout

    /// Reads the begin, the end and the last line of the text in `base`.
    ///
    /// - Throws: ``TresorError/altered`` unless they belong to an armoured file; the errors of the source.
    package init(_ base: Base) async throws(TresorError) {
        let start = try await base.bytes(0..<min(Armour.Layout.startByteCount, base.byteCount))
        layout = try Armour.Layout(.file, start: start, textByteCount: base.byteCount)
        try await layout.checkEnd(base.bytes((base.byteCount - layout.endByteCount)..<base.byteCount))
        self.base = base
        let last = max(0, layout.lineCount - 1)
        let lines = last..<layout.lineCount
        let text = try await base.bytes(layout.place(of: lines))
        byteCount = last * Armour.lineByteCount + (try layout.decode(text[...], lines: lines)).count
    }

    /// Fills `output` with the bytes from `offset` on.
    public func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError) {
        guard offset >= 0, output.freeCapacity <= byteCount - offset else { throw .altered }
        var next = offset
        while output.freeCapacity > 0 {
            let first = next / Armour.lineByteCount
            let wanted = (next + output.freeCapacity - 1) / Armour.lineByteCount + 1
            let lines = first..<min(wanted, first + Self.groupLineCount)
            let text = try await base.bytes(layout.place(of: lines))
            let bytes = try layout.decode(text[...], lines: lines)
            let start = next - first * Armour.lineByteCount
            let count = min(bytes.count - start, output.freeCapacity)
            // A text that changes during the reading can be shorter now.
            guard count > 0 else { throw .altered }
            output.append(bytes.span.extracting(start..<(start + count)))
            next += count
        }
    }

    /// The number of lines decoded at once: 48 KiB.
    private static var groupLineCount: Int { 1024 }
}
