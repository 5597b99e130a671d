// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Handles that look like others (SPEC §7.8).
@Suite struct LookalikeTests {
    private func skeleton(_ text: String) throws -> Skeleton { Skeleton(of: try Name(Array(text.utf8))) }

    @Test(arguments: [
        // Cyrillic, Greek and full-width letters.
        ("anna", "\u{430}nn\u{430}"), ("cope", "\u{441}\u{43e}\u{440}\u{435}"), ("nikos", "nik\u{3bf}s"),
        ("HANNA", "\u{41d}\u{410}NN\u{410}"), ("anna", "\u{ff41}nna"),
        // Letters and marks in any composition, on any base.
        ("m\u{fc}ller", "mu\u{308}ller"), ("zo\u{eb}", "zo\u{451}"),
        // ASCII alone.
        ("dr-o1", "dr-0l"), ("bern", "bem"), ("wal", "vvaI"),
        // Signs.
        ("dr-house", "dr\u{2010}house"), ("dr house", "dr\u{a0}house"), ("a.b", "a\u{2024}b"), ("anna", "anna\u{fe0f}"),
    ])
    func namesThatLookAlikeHaveOneSkeleton(_ one: String, _ other: String) throws {
        #expect(try skeleton(one) == skeleton(other))
    }

    @Test(arguments: [
        ("anna", "hanna"), ("anna", "anne"), ("muller", "m\u{fc}ller"), ("bert", "bart"), ("dr-house", "dr.house"),
        ("\u{438}\u{432}\u{430}\u{43d}", "ivan"), ("", "a"),
    ])
    func namesThatReadersTellApartHaveTwo(_ one: String, _ other: String) throws {
        #expect(try skeleton(one) != skeleton(other))
    }

    @Test(arguments: [
        ("\u{430}nna", "U+0430", "a", true), ("\u{441}\u{43e}\u{440}\u{435}", "U+0441", "c", false),
        ("nik\u{3bf}s", "U+03BF", "o", true), ("\u{ff41}nna", "U+FF41", "a", true),
        ("m\u{fc}ll\u{435}r", "U+0435", "e", true), ("dr\u{2010}house", "U+2010", "-", true),
        ("\u{f8}\u{430}", "U+0430", "a", true), ("\u{435}-1", "U+0435", "e", false),
        ("a\u{43d}na", "U+043D", "H", true), ("\u{410}\u{41d}\u{41e}", "U+0410", "A", false),
        // Wholly Cyrillic, in the shape of Latin letters; and a letter of Cyrillic beside Latin ones.
        ("\u{441}\u{43e}\u{441}\u{43e}", "U+0441", "c", false), ("a\u{43f}na", "U+043F", "n", true),
    ])
    func aNameThatIsNotSpelledAsItLooksIsKnownAlone(
        _ text: String, _ code: String, _ look: String, _ isMixed: Bool
    ) throws {
        let disguise = try #require(Skeleton.disguise(in: try Name(Array(text.utf8))))
        #expect(disguise.code == code)
        #expect(String(disguise.look) == look)
        #expect(disguise.isMixed == isMixed)
    }

    @Test(arguments: [
        "", "anna", "dr-0l", "rnaria", "m\u{fc}ller", "y\u{131}ld\u{131}z", "\u{142}\u{f3}d\u{17a}", "123",
        "\u{438}\u{432}\u{430}\u{43d}", "\u{3bd}\u{3af}\u{3ba}\u{3bf}\u{3c2}", "\u{5d0}\u{5e0}\u{5d4}",
        // Small letters that look like a capital or a digit.
        "\u{430}\u{43d}\u{43d}\u{430}", "\u{432}\u{43e}\u{432}\u{430}", "\u{437}\u{43e}",
        // Small letters that are only nearly Latin ones.
        "\u{43f}\u{435}\u{442}\u{440}", "\u{43a}\u{440}\u{43e}\u{442}", "\u{440}\u{430}\u{43a}",
        "\u{433}\u{43e}\u{440}\u{430}", "\u{435}\u{43b}\u{44c}",
    ])
    func aNameOfOneScriptIsSpelledAsItLooks(_ text: String) throws {
        #expect(Skeleton.disguise(in: try Name(Array(text.utf8))) == nil)
    }

    @Test func peopleAreComparedWithThoseWhomAHomeKnowsAndThoseOfALog() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let (bert, other) = (try await world.quick("bert"), try await world.quick("b\u{435}rt"))
        func others(like session: Session, in state: LogState? = nil) throws -> [UserID] {
            try anna.client.people.lookalikes(in: state)
                .others(like: session.identity.handle, of: session.identity.user).map(\.user)
        }
        #expect(try others(like: other) == [])
        try anna.client.people.pinBlocking(bert.identity.chain)
        #expect(try others(like: other) == [bert.identity.user])
        // The person themself is no lookalike, and nobody under the very same handle is.
        #expect(try others(like: bert) == [])
        let same = try identity("bert")
        #expect(
            try anna.client.people.lookalikes().others(like: same.handle, of: same.user).isEmpty)
        // Two people of a log whom this home does not know.
        let tresor = try await bert.tresors.create(Name(typed: "plans")).tresor
        try world.introduce(bert, other)
        try await bert.share(tresor, with: [other])
        let state = try await bert.client.logs.state(of: tresor)
        #expect(try others(like: bert, in: state) == [other.identity.user])
    }
}
