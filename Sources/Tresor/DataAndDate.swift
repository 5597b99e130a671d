// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TresorCore
public import TresorCrypto

/// A program has times as dates. In objects they are whole seconds since 1970.
extension Date {
    /// Takes a time of an object.
    init(wholeSeconds seconds: UInt64) { self.init(timeIntervalSince1970: Double(seconds)) }

    /// The whole seconds since 1970; 0 for an earlier date, and the greatest number for one that no object can hold.
    var wholeSeconds: UInt64 {
        let seconds = timeIntervalSince1970.rounded(.down)
        guard seconds > 0 else { return 0 }
        return seconds > Double(Format.latestTime) ? .max : UInt64(seconds)
    }
}

extension FileAuthor {
    /// The time of signing by their own account.
    public var date: Date { Date(wholeSeconds: time) }
}

extension LogRecord {
    /// The time of writing by the author's account.
    public var date: Date { Date(wholeSeconds: time) }
}

extension TrustedDevice {
    /// The last second in which it opens.
    public var end: Date { Date(wholeSeconds: until) }
}

extension OpenedFile {
    /// The content, byte for byte.
    public var data: Data { Data(content) }
}

extension SealedFile {
    /// The whole file in binary form.
    public var data: Data { Data(bytes) }
}

extension NamedContent {
    /// Makes a content with its names.
    ///
    /// - Parameters:
    ///   - content: the bytes to seal, unchanged: an array, `Data`, or a string's `utf8`.
    ///   - record: the record name; may be empty.
    ///   - type: the content type, such as `application/json`; may be empty.
    /// - Throws: ``TresorError/usage(_:)`` for names that nobody can have.
    public init(_ content: some Collection<UInt8>, record: String, type: String = "") throws(TresorError) {
        self.init(Array(content), record: try Name(text: record), type: try Name(text: type))
    }
}

extension SlotChanges {
    /// Makes this device a trusted device, with a device share in the home and a server share in the store (SPEC §8.8).
    /// An earlier trust of this device ends.
    ///
    /// - Parameters:
    ///   - name: the name in lists; may be empty.
    ///   - end: the last second in which it opens the identity.
    /// - Throws: ``TresorError/usage(_:)`` for a date before 1970 or after the year 9999, and when no more devices fit;
    ///   ``TresorError/store(_:)`` when the store does not keep the share.
    @concurrent @discardableResult public func rememberDevice(
        name: String, until end: Date
    ) async throws(TresorError) -> TrustedDevice {
        let end = end.wholeSeconds
        guard end > 0 else { throw .usage(.time) }
        return try await rememberDevice(name: Name(text: name), until: end)
    }
}
