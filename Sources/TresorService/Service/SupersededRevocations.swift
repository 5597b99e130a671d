// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The revocations that later ones have made needless (SPEC §18.7): an era of a person that another one follows, a card
    /// before another one, a removal from a tresor before another one, and a start of the service before the last one.
    ///
    /// They are noted in their order, each with its place.
    package struct SupersededRevocations: Sendable {
        private struct LastEra: Sendable {
            let era: Era
            let place: Int
        }

        private struct LastCard: Sendable {
            let generation: UInt32
            let place: Int
        }

        private struct LastRemoval: Sendable {
            let sequence: UInt64
            let place: Int
        }

        private var eras: [UserID: LastEra] = [:]
        private var cards: [UserID: LastCard] = [:]
        private var removals: [TresorID: LastRemoval] = [:]
        private var lastStart: Int?
        /// The number of noted revocations that are superseded.
        package private(set) var count = 0

        package init() {}

        /// Notes the next revocation.
        package mutating func note(_ revocation: Revocation, at place: Int) {
            switch revocation {
            case .sessions(let user, let era):
                let last = eras[user]
                if last != nil { count += 1 }
                let isLast = last.map { !era.bytes.lexicographicallyPrecedes($0.era.bytes) } ?? true
                if isLast { eras[user] = LastEra(era: era, place: place) }
            case .card(let user, let generation, _):
                let last = cards[user]
                if last != nil { count += 1 }
                // Of two with one number the first was never put.
                if last.map({ $0.generation <= generation }) ?? true {
                    cards[user] = LastCard(generation: generation, place: place)
                }
            case .removal(let removal):
                let last = removals[removal.tresor]
                if last != nil { count += 1 }
                if last.map({ $0.sequence <= removal.sequence }) ?? true {
                    removals[removal.tresor] = LastRemoval(sequence: removal.sequence, place: place)
                }
            case .start:
                if lastStart != nil { count += 1 }
                lastStart = place
            case .device, .invitation, .withdrawal, .account: break
            }
        }

        /// Whether a revocation that was noted at a place is needed no more.
        package func contains(_ revocation: Revocation, at place: Int) -> Bool {
            switch revocation {
            case .sessions(let user, _): eras[user]?.place != place
            case .card(let user, _, _): cards[user]?.place != place
            case .removal(let removal): removals[removal.tresor]?.place != place
            case .start: lastStart != place
            case .device, .invitation, .withdrawal, .account: false
            }
        }
    }
#endif
