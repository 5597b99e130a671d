// SPDX-License-Identifier: Apache-2.0

/// Finding and making the tresors that a person works in.
extension Session {
    /// Finds a tresor by its name, by `OWNER/NAME`, or by an id of at least 6 characters (SPEC §4.3).
    ///
    /// - Throws: ``TresorError/notFound`` when this person has no such tresor; ``TresorError/usage(_:)`` with
    ///   `ambiguous` when several are meant; the error of its log when that could not be verified.
    @concurrent public func tresor(_ text: String) async throws(TresorError) -> TresorHandle {
        let found = try await tresors.named(text)
        guard let summary = found.first else { throw .notFound }
        guard found.count == 1 else { throw .usage(.ambiguous) }
        if let error = summary.error, summary.state == nil { throw error }
        return tresor(summary.tresor)
    }

    /// Returns the handle of a tresor whose id is known. Reads nothing.
    public func tresor(_ id: TresorID) -> TresorHandle { TresorHandle(id: id, session: self) }

    /// Makes a tresor with its first epoch (SPEC §9.7).
    ///
    /// - Parameters:
    ///   - name: the name, which members can read and the store cannot.
    ///   - kind: the kind, as a program uses it; empty for none.
    /// - Throws: the errors of ``Tresors/create(_:kind:)``; ``TresorError/usage(_:)`` with `nameCharacters` or
    ///   `nameTooLong`.
    @concurrent public func create(_ name: String, kind: String = "") async throws(TresorError) -> TresorHandle {
        tresor(try await tresors.create(Name(typed: name), kind: Name(text: kind)).tresor)
    }
}
