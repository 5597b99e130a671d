// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The people of whom a request has held, with the source that it came from, of this process.
    ///
    /// It proves nothing: anyone at that source may name such a person. Who was not seen for long is forgotten first.
    final class HeldPeople: Sendable {
        private struct Place: Hashable {
            let user: UserID
            let source: [UInt8]
        }

        private struct State {
            var recent: Set<Place> = []
            var earlier: Set<Place> = []
        }

        /// Half of the places that are kept.
        private let halfCount: Int
        private let state = Mutex(State())

        init(halfCount: Int = 25_000) { self.halfCount = halfCount }

        /// Whether a request of somebody has held that came from this source.
        func isKnown(_ user: UserID, from source: [UInt8]) -> Bool {
            let place = Place(user: user, source: source)
            return state.withLock { $0.recent.contains(place) || $0.earlier.contains(place) }
        }

        /// Keeps that a request has held.
        func keep(_ user: UserID, from source: [UInt8]) {
            state.withLock { state in
                if state.recent.count >= halfCount { state = State(earlier: state.recent) }
                state.recent.insert(Place(user: user, source: source))
            }
        }

        /// Forgets somebody of whom a request has failed.
        func forget(_ user: UserID, from source: [UInt8]) {
            let place = Place(user: user, source: source)
            state.withLock { state in
                state.recent.remove(place)
                state.earlier.remove(place)
            }
        }
    }
#endif
