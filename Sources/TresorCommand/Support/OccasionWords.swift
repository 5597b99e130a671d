// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The words for how this home came to know a person.
enum OccasionWords {
    /// The word of a column, and of JSON.
    static func word(_ occasion: Pin.Occasion) -> String {
        switch occasion {
        case .number: "number"
        case .card: "card"
        case .link: "link"
        case .known: "known"
        }
    }

    /// A clause, with the date.
    static func clause(_ pin: Pin) -> String {
        let date = Timestamp(seconds: pin.time).date
        return switch pin.occasion {
        case .number: "you compared the safety number on \(date)"
        case .card: "you took their card on \(date)"
        case .link: "you followed their link on \(date)"
        case .known: "known from another device of yours, where you compared on \(date)"
        }
    }

    /// How this home came to know a person who is verified; `nil` for anybody else.
    static func pin(of user: UserID, _ client: Client) throws(TresorError) -> Pin? {
        try client.people.pinnedBlocking().first { $0.chain.user == user && !$0.isReplaced }
    }
}
