// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

extension UserID: LosslessStringConvertible, Codable {
    /// All 52 base32 characters.
    public var description: String { Base32.text(digest.bytes) }

    /// Reads an id as ``description`` gives it: 52 characters in lower case. Returns `nil` for any other text.
    public init?(_ description: String) {
        guard let bytes = Base32.bytes(description), let digest = Hash256(bytes) else { return nil }
        self.init(digest)
    }

    /// Decodes the text of an id.
    ///
    /// - Throws: `DecodingError` for any other text.
    public init(from decoder: any Decoder) throws { self = try decoder.identifier() }

    /// Encodes the text of the id.
    public func encode(to encoder: any Encoder) throws { try encoder.encode(identifier: description) }
}

extension TresorID: LosslessStringConvertible, Codable {
    /// All 52 base32 characters.
    public var description: String { Base32.text(digest.bytes) }

    /// Reads an id as ``description`` gives it: 52 characters in lower case. Returns `nil` for any other text.
    public init?(_ description: String) {
        guard let bytes = Base32.bytes(description), let digest = Hash256(bytes) else { return nil }
        self.init(digest)
    }

    /// Decodes the text of an id.
    ///
    /// - Throws: `DecodingError` for any other text.
    public init(from decoder: any Decoder) throws { self = try decoder.identifier() }

    /// Encodes the text of the id.
    public func encode(to encoder: any Encoder) throws { try encoder.encode(identifier: description) }
}

extension DeviceID: LosslessStringConvertible, Codable {
    /// All 26 base32 characters.
    public var description: String { Base32.text(bytes) }

    /// Reads an id as ``description`` gives it: 26 characters in lower case. Returns `nil` for any other text.
    public init?(_ description: String) {
        guard let bytes = Base32.bytes(description) else { return nil }
        self.init(bytes)
    }

    /// Decodes the text of an id.
    ///
    /// - Throws: `DecodingError` for any other text.
    public init(from decoder: any Decoder) throws { self = try decoder.identifier() }

    /// Encodes the text of the id.
    public func encode(to encoder: any Encoder) throws { try encoder.encode(identifier: description) }
}

extension Decoder {
    fileprivate func identifier<ID: LosslessStringConvertible>() throws -> ID {
        let container = try singleValueContainer()
        guard let id = ID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text is no id")
        }
        return id
    }
}

extension Encoder {
    fileprivate func encode(identifier: String) throws {
        var container = singleValueContainer()
        try container.encode(identifier)
    }
}
