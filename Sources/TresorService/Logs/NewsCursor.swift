// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// A place in the news of one person: the service's own note of what it has said.
    ///
    /// It names the changes of the last minute by a fingerprint and looks at them again each time. A change that
    /// another process dated before the cursor, and wrote after it, is then not left out. A tresor may be named twice.
    struct NewsCursor: Hashable, Sendable {
        /// A log that has changed.
        struct Log: Hashable, Sendable {
            let tresor: TresorID
            let count: UInt64
            /// The time of the last entry by the service's account, in seconds since 1970.
            let changed: UInt64
        }

        /// The seconds that are looked at again.
        static let window: UInt64 = 60

        private enum Place: Hashable, Sendable {
            /// A fingerprint of what the service has said of the changes since the time.
            case seen(UInt64)
            /// The last tresor of a page.
            case after(Hash256)
        }

        /// The time from which changes count, in seconds since 1970.
        let time: UInt64
        private let place: Place

        /// A cursor that has said nothing of the changes since a time.
        init(since time: UInt64) {
            self.init(time: time, .seen(0))
        }

        private init(time: UInt64, _ place: Place) {
            self.time = time
            self.place = place
        }

        /// - Throws: ``TresorError/altered``.
        init(_ bytes: [UInt8]) throws(TresorError) {
            var decoder = ByteDecoder(bytes)
            let kind = try decoder.integer(UInt8.self)
            time = try decoder.time()
            switch kind {
            case 0: place = .seen(try decoder.integer())
            case 1: place = .after(try decoder.digest())
            default: throw .altered
            }
            try decoder.end()
        }

        var bytes: [UInt8] {
            var encoder = ByteEncoder()
            switch place {
            case .seen(let fingerprint):
                encoder.integer(UInt8(0))
                encoder.integer(time)
                encoder.integer(fingerprint)
            case .after(let tresor):
                encoder.integer(UInt8(1))
                encoder.integer(time)
                encoder.digest(tresor)
            }
            return encoder.bytes
        }

        /// The tresor after which the changes of the very second begin; zero for all of them.
        var after: Hash256 {
            switch place {
            case .seen: .zero
            case .after(let tresor): tresor
            }
        }

        /// Says what is new.
        ///
        /// - Parameters:
        ///   - logs: the logs that have changed since this cursor, by time and id.
        ///   - goesOn: whether there are more.
        ///   - isFirst: whether nobody has asked before. Nothing is named then.
        func answer(_ logs: [Log], goesOn: Bool, isFirst: Bool, at now: UInt64) -> NewsAnswer {
            if goesOn, !isFirst, let last = logs.last {
                let next = NewsCursor(time: last.changed, .after(last.tresor.digest))
                return NewsAnswer(tresors: logs.map(\.tresor), cursor: next.bytes, more: true)
            }
            let start = now - min(now, Self.window)
            let next = NewsCursor(
                time: start, .seen(goesOn ? 0 : Self.fingerprint(logs.filter { $0.changed >= start })))
            let isNew = !isFirst && place != .seen(Self.fingerprint(logs))
            return NewsAnswer(tresors: isNew ? logs.map(\.tresor) : [], cursor: next.bytes, more: false)
        }

        /// A number that changes when a log grows or another one comes. It is no hash: nobody gains by two that agree
        /// but the one who made them, and they lose a hint.
        private static func fingerprint(_ logs: [Log]) -> UInt64 {
            var encoder = ByteEncoder()
            for log in logs {
                encoder.digest(log.tresor.digest)
                encoder.integer(log.count)
            }
            return encoder.bytes.reduce(logs.isEmpty ? 0 : 0xcbf2_9ce4_8422_2325) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
        }
    }
#endif
