// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A change of one record that a person wants.
public struct RecordChange: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case deleted
        case bytes([UInt8], type: String)
        case held(HeldContent, type: String)
    }

    /// The name of the record.
    package let name: String
    let content: Content

    /// Gives a record a content. One of more than 65 536 bytes becomes an attachment, which others fetch when they ask
    /// for it.
    public static func put(
        _ name: String, _ content: some Collection<UInt8>, type: String = ""
    ) -> RecordChange { RecordChange(name: name, content: .bytes(Array(content), type: type)) }

    /// Gives a record a content that was taken into the home before, as an attachment.
    package static func put(_ name: String, _ content: HeldContent, type: String) -> RecordChange {
        RecordChange(name: name, content: .held(content, type: type))
    }

    /// Deletes a record.
    public static func delete(_ name: String) -> RecordChange { RecordChange(name: name, content: .deleted) }
}

extension RecordChange {
    /// The content that was taken into the home before; `nil` for any other.
    var held: HeldContent? { if case .held(let content, _) = content { content } else { nil } }

    /// Whether its content becomes an attachment, and is not in the home yet.
    var isToBeHeld: Bool { held == nil && heldByteCount != nil }

    /// The size of a content that becomes an attachment, in bytes; `nil` for any other.
    var heldByteCount: UInt64? {
        switch content {
        case .held(let content, _): content.byteCount
        case .bytes(let bytes, _) where bytes.count > Item.maximumContentByteCount: UInt64(bytes.count)
        default: nil
        }
    }

    /// The content as an item has it in an outbox.
    ///
    /// - Parameter number: the number of a content that becomes an attachment.
    /// - Throws: ``TresorError/usage(_:)`` for a type that is none, or begins with `tresor/`.
    func itemContent(_ number: UInt16) throws(TresorError) -> Item.Content {
        let (text, bytes): (String, [UInt8])
        switch content {
        case .deleted: return .deleted
        case .bytes(let content, let type): (text, bytes) = (type, content)
        case .held(_, let type): (text, bytes) = (type, [])
        }
        let type = try Name(text: text)
        try type.checkIsOfContents()
        return heldByteCount == nil ? .bytes(bytes, type: type) : .attachment(blob: number, type: type)
    }
}

extension [RecordChange] {
    /// Refuses a set of changes over its limits, before anything of it is written.
    ///
    /// - Parameters:
    ///   - time: the time of the changes, in seconds since 1970.
    ///   - takesReserved: whether a name may be one that is reserved.
    /// - Throws: ``TresorError/usage(_:)`` for a name or a type that is refused, a record twice, more than a pack takes, and
    ///   the limits of ``Attachments/checkHeld(_:)``.
    func check(at time: UInt64, takesReserved: Bool) throws(TresorError) {
        var items: [Item] = []
        for change in self {
            let content = try change.itemContent(1)
            items.append(Item(record: try Name(text: change.name), replaces: [], time: time, content: content))
        }
        _ = try Pack(of: items, takesReserved: takesReserved)
        try Attachments.checkHeld(compactMap(\.heldByteCount))
    }
}

extension Name {
    /// Reads the name of a record that a person asks for.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a name that breaks SPEC §4.4, and for a reserved one.
    init(ofRecord text: String) throws(TresorError) {
        try self.init(text: text)
        guard !isReserved else { throw .usage(.nameCharacters) }
    }
}
