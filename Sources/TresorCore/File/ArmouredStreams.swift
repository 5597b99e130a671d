// SPDX-License-Identifier: Apache-2.0

/// Writes a sealed file in its armoured form (SPEC §4.2) while it is made. Call ``finish()`` when the last byte has come.
public struct ArmouringSink<Base: ByteSink>: ByteSink {
    /// Where the text goes.
    public private(set) var base: Base
    private var encoder = Armour.Encoder(.file)

    /// Sends the text to `base`.
    public init(_ base: Base) { self.base = base }

    /// Takes the next bytes of the binary form.
    public mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + bytes.count / 48 + 128)
        encoder.append(bytes, to: &text)
        try await base.write(text.span)
    }

    /// Writes what is left, and the end line.
    ///
    /// - Throws: what the base throws.
    public mutating func finish() async throws(TresorError) {
        var text: [UInt8] = []
        encoder.finish(to: &text)
        try await base.write(text.span)
    }
}

/// The binary form of an armoured sealed file that lies somewhere, at any place of it. Every line that is read is judged as
/// ``Armour/dearmour(_:)`` does; opening a file reads them all.
public struct ArmouredSource<Base: SealedSource>: SealedSource {
    /// The size of the binary form.
    public let byteCount: Int
    private let base: Base
    private let layout: Armour.Layout

    /// Looks at begin, end and the last line of the text in `base`.
    ///
    /// - Throws: ``TresorError/altered`` unless they are those of an armoured file; what the source throws.
    public init(_ base: Base) throws(TresorError) {
        let start = try base.bytes(0..<min(Armour.Layout.startByteCount, base.byteCount))
        layout = try Armour.Layout(.file, start: start, textByteCount: base.byteCount)
        try layout.checkEnd(base.bytes((base.byteCount - layout.endByteCount)..<base.byteCount))
        self.base = base
        let last = max(0, layout.lineCount - 1)
        let lines = last..<layout.lineCount
        let text = try base.bytes(layout.place(of: lines))
        byteCount = last * Armour.lineByteCount + (try layout.decode(text[...], lines: lines)).count
    }

    /// Fills `output` with the bytes from `offset` on.
    public func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        guard offset >= 0, output.freeCapacity <= byteCount - offset else { throw .altered }
        var next = offset
        while output.freeCapacity > 0 {
            let first = next / Armour.lineByteCount
            let wanted = (next + output.freeCapacity - 1) / Armour.lineByteCount + 1
            let lines = first..<min(wanted, first + Self.stretchLineCount)
            let text = try base.bytes(layout.place(of: lines))
            let bytes = try layout.decode(text[...], lines: lines)
            let start = next - first * Armour.lineByteCount
            let count = min(bytes.count - start, output.freeCapacity)
            // A text that changes while it is read can have lost what was there.
            guard count > 0 else { throw .altered }
            output.append(bytes.span.extracting(start..<(start + count)))
            next += count
        }
    }

    /// How many lines are decoded at once: 48 KiB.
    private static var stretchLineCount: Int { 1024 }
}
