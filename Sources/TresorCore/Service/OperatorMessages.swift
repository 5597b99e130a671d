// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The code of an invitation: 16 random bytes, shown as 26 characters (SPEC §18.6).
package struct Invitation: Sendable {
    /// The size in bytes: 16.
    package static let byteCount = 16
    /// The time for which an invitation is good, in seconds: 14 days.
    package static let duration: UInt64 = 14 * 86_400

    /// The code.
    package let code: [UInt8]

    /// Draws a code.
    package init() throws(TresorError) { code = try randomBytes(Self.byteCount) }

    /// Takes exactly 16 bytes.
    ///
    /// - Throws: ``TresorError/altered`` for any other count.
    package init(_ code: [UInt8]) throws(TresorError) {
        guard code.count == Self.byteCount else { throw .altered }
        self.code = code
    }

    /// Reads the 26 characters as an id is typed: in either case, `i` and `l` for `1`, `o` for `0`. Blanks, tabs, line
    /// ends and hyphens may stand anywhere.
    ///
    /// - Throws: ``TresorError/altered`` for any other text.
    package init(typed: borrowing SecretBytes) throws(TresorError) {
        let read = Self.read(typed)
        guard read.count == Self.characterCount, read.wrong == nil else { throw .altered }
        try self.init(read.code)
    }

    /// The position, counted from 1 without blanks and hyphens, of the first of 26 characters that no invitation has there;
    /// `nil` for another count, and where all may stand.
    package static func wrongCharacter(in typed: borrowing SecretBytes) -> Int? {
        let read = read(typed)
        return read.count == characterCount ? read.wrong : nil
    }

    /// Reads typed characters, of which one outside ASCII counts once.
    private static func read(_ typed: borrowing SecretBytes) -> (code: [UInt8], count: Int, wrong: Int?) {
        let bytes = typed.span
        var (values, count, wrong) = ([UInt8](), 0, Int?.none)
        for index in bytes.indices where !separators.contains(bytes[index]) {
            if bytes[index] & 0xc0 == 0x80, index > 0, bytes[index - 1] >= 0x80 { continue }
            count += 1
            if let value = Base32.value(of: bytes[index]) { values.append(value) } else { wrong = wrong ?? count }
        }
        let (code, isWhole) = BitGroups.join(values, width: 5)
        return (code, count, isWhole ? wrong : wrong ?? count)
    }

    private static let characterCount = 26
    private static let separators: Set<UInt8> = Set(" \t\n\r-".utf8)

    /// The 26 characters.
    package var text: String { Base32.text(code) }

    /// `H("tresor/v1/invitation", code)`: all that the service keeps of it.
    package func hash() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.invitation, code) }
}

/// Puts an invitation.
package struct InviteRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.invite

    package let hash: Hash256
    /// The operator's words for the person, which only the operator is shown.
    package let label: Name
    /// The end, in seconds since 1970.
    package let until: UInt64

    package init(hash: Hash256, label: Name, until: UInt64) {
        self.hash = hash
        self.label = label
        self.until = until
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(hash)
        encoder.vector16(label.bytes)
        encoder.integer(until)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        hash = try decoder.digest()
        label = try Name(decoder.vector16(0...Name.maximumByteCount))
        until = try decoder.time()
    }
}

/// Asks for the people who wait for the operator.
package struct InboxRequest: ServiceRequest {
    package typealias Answer = InboxAnswer
    package static let operation = ServiceOperation.inbox

    /// The user id after which the page begins, in byte order; zero for the first page.
    package let after: Hash256

    package init(after: Hash256) { self.after = after }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(after) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { after = try decoder.digest() }
}

/// A page of people who wait for the operator, by rising user id.
package struct InboxAnswer: ServiceMessage {
    /// A person who waits.
    package struct Case: Hashable, Sendable {
        /// *asked* or *complete*. The operator admits who is *complete*, and refuses either.
        package let state: AccountState
        package let chain: [UInt8]
        /// The label of the invitation; empty for none.
        package let label: Name
        /// The time of asking by the service's account, in seconds since 1970.
        package let asked: UInt64

        package init(state: AccountState, chain: [UInt8], label: Name, asked: UInt64) {
            self.state = state
            self.chain = chain
            self.label = label
            self.asked = asked
        }
    }

    package let more: Bool
    package let cases: [Case]

    package init(cases: [Case], more: Bool) {
        self.cases = cases
        self.more = more
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.flag(more)
        encoder.list(cases) { encoder, waiting in
            encoder.integer(waiting.state.rawValue)
            encoder.vector32(waiting.chain)
            encoder.vector16(waiting.label.bytes)
            encoder.integer(waiting.asked)
        }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        more = try decoder.flag()
        cases = try decoder.list(of: more ? 1 : 0, byteCount: 15) { (decoder) throws(TresorError) -> Case in
            let state = try AccountState(from: &decoder)
            guard state == .asked || state == .complete else { throw .altered }
            return Case(
                state: state, chain: try decoder.vector32(1...CardChain.maximumByteCount),
                label: try Name(decoder.vector16(0...Name.maximumByteCount)), asked: try decoder.time())
        }
    }
}

/// Admits or refuses a person who waits.
package struct AdmitRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.admit

    package let user: UserID
    /// The hash of the card that the operator was shown.
    package let card: Hash256
    package let isAdmitted: Bool

    package init(user: UserID, card: Hash256, isAdmitted: Bool) {
        self.user = user
        self.card = card
        self.isAdmitted = isAdmitted
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(user.digest)
        encoder.digest(card)
        encoder.flag(isAdmitted)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        user = UserID(try decoder.digest())
        card = try decoder.digest()
        isAdmitted = try decoder.flag()
    }
}
