// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// The entries of a log, verified and remembered before the first is given, oldest first.
    ///
    /// - Throws: what ``state(of:remembering:)`` throws.
    public func records(of tresor: TresorID) async throws(TresorError) -> (state: LogState, records: [LogRecord]) {
        let state = try await state(of: tresor)
        var records: [LogRecord] = []
        for first in stride(from: 0, to: state.entryCount, by: Self.pageCount) {
            let range = first..<min(first + UInt64(Self.pageCount), state.entryCount)
            for entry in try await entries(range, of: state) { records.append(try LogRecord(Entry(entry))) }
        }
        return (state, records)
    }
}
