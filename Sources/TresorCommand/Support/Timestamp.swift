// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TresorCore

/// Seconds since 1970-01-01T00:00:00Z without leap seconds, and their ISO 8601 forms, always UTC.
struct Timestamp: Hashable, Comparable, Sendable {
    let seconds: UInt64

    /// 9999-12-31T23:59:59Z; what is later has no four-digit year.
    static let last = Timestamp(seconds: 253_402_300_799)
    static let secondsPerDay = CivilDay.secondsPerDay

    static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }

    /// `2026-05-02`.
    var date: String {
        guard self <= .last else { return "after 9999" }
        return CivilDay(at: seconds).text
    }

    /// `2026-05-02 14:03 UTC`.
    var dateAndMinute: String {
        guard self <= .last else { return "after 9999" }
        return "\(date) \(clock.prefix(5)) UTC"
    }

    /// `2026-05-02T14:03:07Z`; the last second of 9999 for anything later.
    var rfc3339: String {
        guard self <= .last else { return Self.last.rfc3339 }
        return "\(date)T\(clock)Z"
    }

    private var clock: String { CivilDay.clock(at: seconds) }
}

/// A DATE of the command line: `YYYY-MM-DD`, or RFC 3339 with seconds and a zone.
enum DateArgument: Hashable, Sendable {
    /// A whole day, by its first second.
    case day(Timestamp)
    case instant(Timestamp)

    /// The first second meant.
    var start: Timestamp {
        switch self {
        case .day(let time), .instant(let time): time
        }
    }

    /// The last second meant.
    var end: Timestamp {
        switch self {
        case .day(let time): Timestamp(seconds: time.seconds + Timestamp.secondsPerDay - 1)
        case .instant(let time): time
        }
    }

    init?(_ text: String) {
        var scanner = DateScanner(bytes: text.utf8[...])
        guard let date = scanner.date() else { return nil }
        if scanner.isAtEnd {
            self = .day(Timestamp(seconds: date))
        } else {
            guard let instant = scanner.timeAndZone(after: date), scanner.isAtEnd else { return nil }
            self = .instant(Timestamp(seconds: instant))
        }
    }
}

extension DateArgument: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

private struct DateScanner {
    var bytes: Substring.UTF8View

    var isAtEnd: Bool { bytes.isEmpty }

    init(bytes: Substring.UTF8View) { self.bytes = bytes }

    mutating func date() -> UInt64? {
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
            let date = CivilDay(year: year, month: month, day: day)
        else { return nil }
        return date.dayCount * Timestamp.secondsPerDay
    }

    mutating func timeAndZone(after date: UInt64) -> UInt64? {
        guard skip("T") || skip("t"), let hour = number(2), skip(":"), let minute = number(2), skip(":"),
            let second = number(2), hour < 24, minute < 60, second < 60, skipFraction(), let offset = zone()
        else { return nil }
        let local = Int64(date + hour * 3600 + minute * 60 + second)
        return UInt64(exactly: local - offset)
    }

    /// Seconds east of UTC.
    private mutating func zone() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let isEast = skip("+")
        guard isEast || skip("-"), let hour = number(2), skip(":"), let minute = number(2), hour < 24, minute < 60
        else {
            return nil
        }
        let offset = Int64(hour * 3600 + minute * 60)
        return isEast ? offset : -offset
    }

    /// Fractions of a second are allowed and dropped.
    private mutating func skipFraction() -> Bool {
        guard skip(".") else { return true }
        guard number(1) != nil else { return false }
        while number(1) != nil {}
        return true
    }

    private mutating func number(_ digits: Int) -> UInt64? {
        let text = bytes.prefix(digits)
        guard text.count == digits, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        bytes = bytes.dropFirst(digits)
        return text.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let first = bytes.first, UInt32(first) == character.value else { return false }
        bytes = bytes.dropFirst()
        return true
    }
}
