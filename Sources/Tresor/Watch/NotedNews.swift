// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The news of a service since the last sync, whose end the home noted (SPEC §8.5, §19.7).
///
/// The news are hints. A tresor that the service leaves out is read with all others at the latest after a day.
package struct NotedNews: Sendable {
    /// The time from which on everything is read again, in seconds: a day.
    private static let duration: UInt64 = 86_400
    /// The most answers with news; after that, everything is read.
    private static let mostAnswers = 64

    /// The tresors that are to be read; `nil` for all.
    package let due: Set<TresorID>?
    /// The tresors of which the service has news.
    package let named: Set<TresorID>
    /// The own tresors that were met since everything was read.
    package let own: Set<TresorID>
    /// The tresors of which this home has verified a log, without those that lie in other stores alone.
    package let known: Set<TresorID>
    private let session: Session
    private let place: StoreName
    private let cursor: [UInt8]
    /// The time of this request.
    private let asked: UInt64
    /// The time of the last reading of everything.
    private let whole: UInt64
    /// The pins at the beginning. Other pins show other tresors.
    private var pins: [UInt8]

    /// Asks a service for the news since the last sync.
    ///
    /// - Parameter isWhole: whether everything is read, whatever the news are.
    /// - Returns: `nil` for a store that has no news, or does not say them now: everything is read, and nothing noted.
    /// - Throws: ``TresorError/cancelled``; the errors of the home.
    @concurrent package static func ask(
        _ session: Session, forAll isWhole: Bool
    ) async throws(TresorError) -> NotedNews? {
        let client = session.client
        guard client.isDistant, let place = client.storeName else { return nil }
        let asked = client.clock()
        let (pins, note) = try await Cores.apart { () throws(TresorError) -> ([UInt8], Note?) in
            let pins = try client.home.read(.pins) ?? []
            return (pins, isWhole ? nil : Note(of: session, at: place, with: pins))
        }
        do throws(TresorError) {
            if let note, note.whole <= asked, asked - note.whole < duration,
                let news = try await Self.news(since: note.cursor, client)
            {
                let (due, known) = try await Cores.apart {
                    () throws(TresorError) -> (Set<TresorID>?, Set<TresorID>) in
                    (try note.due(after: news.tresors, client), try Self.known(to: client))
                }
                if let due {
                    return NotedNews(
                        due: due, named: news.tresors, own: note.own, known: known, session: session, place: place,
                        cursor: news.cursor, asked: asked, whole: note.whole, pins: pins)
                }
            }
            // The cursor comes before the readings, so that nothing falls in between.
            guard let first = try await client.guardedStore.news(since: [], seconds: 0), !first.cursor.isEmpty else {
                return nil
            }
            return NotedNews(
                due: nil, named: [], own: [], known: [], session: session, place: place, cursor: first.cursor,
                asked: asked, whole: asked, pins: pins)
        } catch {
            // The reading of everything says what is wrong.
            try Cancellation.check()
            return nil
        }
    }

    private init(
        due: Set<TresorID>?, named: Set<TresorID>, own: Set<TresorID>, known: Set<TresorID>, session: Session,
        place: StoreName, cursor: [UInt8], asked: UInt64, whole: UInt64, pins: [UInt8]
    ) {
        (self.due, self.named, self.own, self.known) = (due, named, own, known)
        (self.session, self.place, self.cursor) = (session, place, cursor)
        (self.asked, self.whole, self.pins) = (asked, whole, pins)
    }

    /// Asks until the service has said everything; `nil` for one that says too much, gives no cursor, or
    /// refuses the one that it gave.
    private static func news(
        since cursor: [UInt8], _ client: Client
    ) async throws(TresorError) -> (cursor: [UInt8], tresors: Set<TresorID>)? {
        var (cursor, tresors) = (cursor, Set<TresorID>())
        do throws(TresorError) {
            for _ in 0..<mostAnswers {
                guard let news = try await client.guardedStore.news(since: cursor, seconds: 0), !news.cursor.isEmpty
                else { return nil }
                cursor = news.cursor
                tresors.formUnion(news.tresors)
                if !news.more { return (cursor, tresors) }
            }
        } catch {
            guard error == .store(.other) else { throw error }
        }
        return nil
    }

    private static func known(to client: Client) throws(TresorError) -> Set<TresorID> {
        let noted = client.archive.notedStores()
        return Set(
            try client.logs.knownBlocking().filter { tresor in
                let places = noted[tresor]
                return places.isEmpty || client.storeName.map { places.contains($0) } ?? true
            })
    }

    /// Takes the pins of now, after this home has learned whom another device verified and before anything is read by that.
    package mutating func takePins() { pins = (try? session.client.home.read(.pins)) ?? [] }

    /// Notes where the news end, after all that was due was read. Failing to write it is no error: more is read then.
    ///
    /// - Parameters:
    ///   - open: the tresors that the next sync reads whether or not there is news of them.
    ///   - own: the own tresors that were met.
    ///   - isWhole: whether everything was read.
    @concurrent package func keep(open: Set<TresorID>, own: Set<TresorID>, isWhole: Bool) async {
        let note = Note(whole: isWhole ? asked : whole, cursor: cursor, open: open, own: own)
        try? await Cores.apart { [self] () throws(TresorError) in
            let sealed = try note.sealed(of: session, at: place, with: pins)
            let home = session.client.home
            try home.exclusively { () throws(TresorError) in try home.replace(.news, with: sealed) }
        }
    }
}

/// The note of the home.
private struct Note: Sendable {
    private static let openFlag: UInt8 = 1
    private static let ownFlag: UInt8 = 2

    /// The time of the last reading of everything, in seconds since 1970.
    let whole: UInt64
    let cursor: [UInt8]
    let open: Set<TresorID>
    let own: Set<TresorID>

    init(whole: UInt64, cursor: [UInt8], open: Set<TresorID>, own: Set<TresorID>) {
        (self.whole, self.cursor, self.open, self.own) = (whole, cursor, open, own)
    }

    /// Opens the note; `nil` for none of the newest keys, this store and these pins.
    init?(of session: Session, at place: StoreName, with pins: [UInt8]) {
        do throws(TresorError) {
            guard let sealed = try session.client.home.read(.news) else { return nil }
            var decoder = ByteDecoder(
                try session.identity.openFromHome(
                    sealed, try Self.label(), at: Self.context(place, pins), byNewestAlone: true))
            whole = try decoder.time()
            cursor = try decoder.vector8(1...64)
            let rows = try decoder.rows { (decoder) throws(TresorError) in try decoder.integer(UInt8.self) }
            open = Set(rows.filter { $0.value & Self.openFlag != 0 }.keys)
            own = Set(rows.filter { $0.value & Self.ownFlag != 0 }.keys)
        } catch {
            return nil
        }
    }

    func sealed(of session: Session, at place: StoreName, with pins: [UInt8]) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.integer(whole)
        encoder.vector8(cursor)
        var rows: [TresorID: UInt8] = [:]
        for tresor in open { rows[tresor, default: 0] |= Self.openFlag }
        for tresor in own { rows[tresor, default: 0] |= Self.ownFlag }
        encoder.rows(rows) { $0.integer($1) }
        return try session.identity.sealForHome(encoder.bytes, try Self.label(), at: Self.context(place, pins))
    }

    private static func label() throws(TresorError) -> DomainLabel { try DomainLabel(application: "sync/news/1") }

    /// Binds the note to one store and one state of the pins.
    private static func context(_ place: StoreName, _ pins: [UInt8]) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.vector16(place.bytes)
        encoder.raw(pins)
        return encoder.bytes
    }

    /// The tresors that are to be read after news; `nil` for all.
    func due(after news: Set<TresorID>, _ client: Client) throws(TresorError) -> Set<TresorID>? {
        let heads = try client.heads()
        // Without an own tresor, which this home has forgotten, another one may have to be made.
        guard own.allSatisfy({ heads[$0] != nil }) else { return nil }
        var due = news.union(open).union(heads.told.keys)
        for tresor in heads.heads.keys where !due.contains(tresor) {
            // An outbox that cannot be read is met by the sync of its tresor.
            let outbox = Result { () throws(TresorError) in try client.home.read(.outbox(tresor)) }
            if outbox != .success(nil) { due.insert(tresor) }
        }
        return due
    }
}
