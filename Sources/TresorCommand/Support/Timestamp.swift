// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Seconds since 1970-01-01T00:00:00Z without leap seconds, and their ISO 8601 forms, always UTC.
struct Timestamp: Hashable, Comparable, Sendable {
    let seconds: UInt64

    /// 9999-12-31T23:59:59Z; what is later has no four-digit year.
    static let last = Timestamp(seconds: 253_402_300_799)
    static let secondsPerDay: UInt64 = 86_400

    static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }

    /// `2026-05-02`.
    var date: String {
        guard self <= .last else { return "after 9999" }
        let (year, month, day) = Self.civil(seconds / Self.secondsPerDay)
        return "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
    }

    /// `2026-05-02 14:03`.
    var dateAndMinute: String {
        guard self <= .last else { return "after 9999" }
        return "\(date) \(clock.prefix(5))"
    }

    /// `2026-05-02T14:03:07Z`; the last second of 9999 for anything later.
    var rfc3339: String {
        guard self <= .last else { return Self.last.rfc3339 }
        return "\(date)T\(clock)Z"
    }

    private var clock: String {
        let second = seconds % Self.secondsPerDay
        return [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
    }

    private static func padded(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// The Gregorian date of a day counted from 1970-01-01, by eras of 400 years that begin in March.
    private static func civil(_ day: UInt64) -> (year: UInt64, month: UInt64, day: UInt64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// The day of a Gregorian date from 1970 on, or `nil` if there is no such date.
    fileprivate static func day(year: UInt64, month: UInt64, day: UInt64) -> UInt64? {
        let isLeap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
        let lengths: [UInt64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1970...9999).contains(year), (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day) else {
            return nil
        }
        let marchYear = month <= 2 ? year - 1 : year
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let yearOfEra = marchYear % 400
        return marchYear / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
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
            let count = Timestamp.day(year: year, month: month, day: day)
        else { return nil }
        return count * Timestamp.secondsPerDay
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
