// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// A change for a person, as ``Client/changes(of:every:)`` reports it.
@nonexhaustive
public enum Change: Hashable, Sendable {
    /// The person was added.
    case added(TresorID)
    /// The person was removed, or left.
    case removed(TresorID)
    /// The tresor has a new key; files sealed from now on use this epoch.
    case epochChanged(TresorID, epoch: UInt64)
    /// A person has new keys, of this generation; compare safety numbers again.
    case renewed(UserID, generation: UInt32)
    /// The log could not be verified: ``TresorError/forked``, ``TresorError/altered`` and others. Reported once until
    /// it changes.
    case failed(TresorID, TresorError)
    /// The store could not be read. Reported once until it answers again.
    case storeFailed(TresorError)
}

/// A sequence of what changes for a person, as the store shows it and the home verifies it. It ends when its task is
/// cancelled.
package struct Changes: AsyncSequence, Sendable {
    let client: Client
    let user: UserID
    let interval: Duration

    /// Begins with what the home has verified at the first call, so that the first changes are those since then.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, user: user, interval: interval)
    }

    /// Reads the store whenever no change is pending.
    package struct Iterator: AsyncIteratorProtocol {
        private let client: Client
        private let user: UserID
        private var view: View?
        private var pending: [Change] = []
        private var watch: NewsWatch

        init(client: Client, user: UserID, interval: Duration) {
            self.client = client
            self.user = user
            watch = NewsWatch(client: client, interval: interval)
        }

        /// Returns the next change; `nil` when the task is cancelled.
        public mutating func next() async -> Change? {
            while pending.isEmpty {
                guard let part = await watch.next() else { return nil }
                var view = if let view { view } else { await Self.view(of: user, in: client) }
                pending = await view.look(at: part, as: user, through: client)
                self.view = view
                // A cancelled reading proves no change.
                guard !Task.isCancelled else { return nil }
            }
            return pending.removeFirst()
        }

        /// Returns what the home has verified.
        @concurrent private static func view(of user: UserID, in client: Client) async -> View {
            View(of: user, in: client)
        }
    }
}

/// The view of the person that was last reported.
private struct View {
    struct Tresor {
        var isIn = false
        var epoch: UInt64 = 0
        var error: TresorError?
    }

    private var tresors: [TresorID: Tresor] = [:]
    private var generations: [UserID: UInt32] = [:]
    private var storeError: TresorError?

    init(of user: UserID, in client: Client) {
        for pin in (try? client.people.pinnedBlocking()) ?? [] {
            generations[pin.chain.user] = pin.chain.newest.generation
        }
        for tresor in (try? client.logs.knownBlocking()) ?? [] {
            guard let known = try? client.archive.verifiedState(of: tresor) else { continue }
            tresors[tresor] = Tresor(isIn: known.members[user] != nil, epoch: known.epoch)
            for (user, chain) in known.chains { raise(user, to: chain) }
        }
    }

    @concurrent mutating func look(
        at part: NewsWatch.Part, as user: UserID, through client: Client
    ) async -> [Change] {
        var changes: [Change] = []
        do throws(TresorError) {
            var wanted = part.tresors
            if part.isWhole { wanted.formUnion(try await client.store.tresors(of: user)) }
            if part.hasPeople { changes += try await lookAtPeople(through: client) }
            storeError = nil
            if part.isWhole { wanted.formUnion(tresors.keys) }
            for tresor in wanted.sorted() {
                changes += await look(at: tresor, as: user, through: client)
            }
        } catch {
            if storeError != error { changes.append(.storeFailed(error)) }
            storeError = error
        }
        return changes
    }

    private mutating func lookAtPeople(through client: Client) async throws(TresorError) -> [Change] {
        var changes: [Change] = []
        for pin in try client.people.pinnedBlocking() where !pin.isReplaced {
            let person: Person
            do throws(TresorError) {
                person = try await client.people.person(pin.chain.user)
            } catch {
                guard case .store = error else { continue }
                throw error
            }
            if raise(pin.chain.user, to: person.chain) { changes.append(renewal(of: person.chain)) }
        }
        return changes
    }

    private mutating func look(at tresor: TresorID, as user: UserID, through client: Client) async -> [Change] {
        var seen = tresors[tresor] ?? Tresor()
        defer { tresors[tresor] = seen }
        let state: LogState
        do throws(TresorError) {
            state = try await client.logs.state(of: tresor)
        } catch {
            // This store need not have a tresor that the home first saw in another.
            if error == .notFound, client.archive.otherStore(of: tresor) != nil { return [] }
            defer { seen.error = error }
            return seen.error == error ? [] : [.failed(tresor, error)]
        }
        let before = seen
        seen = Tresor(isIn: state.members[user] != nil, epoch: state.epoch)
        var changes: [Change] = []
        if seen.isIn != before.isIn { changes.append(seen.isIn ? .added(tresor) : .removed(tresor)) }
        if seen.isIn, before.isIn, seen.epoch != before.epoch {
            changes.append(.epochChanged(tresor, epoch: seen.epoch))
        }
        for (other, chain) in state.chains.sorted(by: { $0.key < $1.key }) where other != user {
            let isKnown = generations[other] != nil
            if raise(other, to: chain), isKnown { changes.append(renewal(of: chain)) }
        }
        return changes
    }

    @discardableResult
    private mutating func raise(_ user: UserID, to chain: CardChain) -> Bool {
        guard chain.newest.generation > generations[user] ?? 0 || generations[user] == nil else { return false }
        generations[user] = chain.newest.generation
        return true
    }

    private func renewal(of chain: CardChain) -> Change {
        .renewed(chain.user, generation: chain.newest.generation)
    }
}
