// SPDX-License-Identifier: Apache-2.0

/// A date of the Gregorian calendar from 1970 on, in UTC.
package struct CivilDay: Hashable, Sendable {
    package static let secondsPerDay: UInt64 = 86_400

    /// The days since 1970-01-01.
    package let dayCount: UInt64
    package let year: UInt64
    /// From 1 to 12.
    package let month: UInt64
    /// From 1 to 31.
    package let day: UInt64

    /// The date of a time in seconds since 1970, by eras of 400 years that begin in March.
    package init(at seconds: UInt64) {
        dayCount = seconds / Self.secondsPerDay
        let shifted = dayCount + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    }

    /// `nil` if there is no such date, or if it is before 1970 or after 9999.
    package init?(year: UInt64, month: UInt64, day: UInt64) {
        let isLeap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
        let lengths: [UInt64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1970...9999).contains(year), (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day) else {
            return nil
        }
        let marchYear = month <= 2 ? year - 1 : year
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let yearOfEra = marchYear % 400
        self.init(
            at: (marchYear / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
                * Self.secondsPerDay)
    }

    /// `2026-05-02`.
    package var text: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// The time of day of a time in seconds since 1970: `14:03:07`.
    package static func clock(at seconds: UInt64) -> String {
        let second = seconds % secondsPerDay
        return [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    }

    /// A number with at least as many digits.
    package static func padded(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
