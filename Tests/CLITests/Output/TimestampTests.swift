// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCommand

@Suite("Dates")
struct TimestampTests {
    @Test(
        "Seconds since 1970 are shown in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"), (1_777_730_587, "2026-05-02T14:03:07Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] as [(UInt64, String)])
    func shown(_ seconds: UInt64, _ text: String) {
        let time = Timestamp(seconds: seconds)
        #expect(time.rfc3339 == text)
        #expect(time.date == String(text.prefix(10)))
        #expect(time.dateAndMinute == "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC")
        #expect(DateArgument(text) == .instant(time))
    }

    @Test("Every day from 1970 to 2110 is followed by the next, and reads back")
    func days() {
        for day in UInt64(0)..<51_134 {
            let time = Timestamp(seconds: day * Timestamp.secondsPerDay)
            #expect(DateArgument(time.date) == .day(time))
        }
    }

    @Test("A time beyond four-digit years is shown without a trap", arguments: [253_402_300_800, .max] as [UInt64])
    func beyond(_ seconds: UInt64) {
        #expect(Timestamp(seconds: seconds).date == "after 9999")
        #expect(Timestamp(seconds: seconds).dateAndMinute == "after 9999")
        #expect(Timestamp(seconds: seconds).rfc3339 == "9999-12-31T23:59:59Z")
    }

    @Test(
        "An instant may have a zone and fractions",
        arguments: [
            ("2026-05-02T16:03:07+02:00", 1_777_730_587), ("2026-05-02t08:33:07.999-05:30", 1_777_730_587),
            ("1970-01-01T01:00:00+01:00", 0),
        ] as [(String, UInt64)])
    func zones(_ text: String, _ seconds: UInt64) {
        #expect(DateArgument(text) == .instant(Timestamp(seconds: seconds)))
    }

    @Test("A day ends with its last second")
    func end() throws {
        let day = try #require(DateArgument("2026-05-02"))
        #expect(day.start.rfc3339 == "2026-05-02T00:00:00Z")
        #expect(day.end.rfc3339 == "2026-05-02T23:59:59Z")
    }

    @Test(
        "What is no date is refused",
        arguments: [
            "", "2026", "2026-5-2", "2026-02-29", "1900-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-00",
            "2026-04-31", "1969-12-31", "26-05-02", "2026-05-02T", "2026-05-02T14:03Z", "2026-05-02T14:03:07",
            "2026-05-02T24:00:00Z", "2026-05-02T14:60:00Z", "2026-05-02T14:03:60Z", "2026-05-02T14:03:07.Z",
            "2026-05-02T14:03:07+2:00", "2026-05-02T14:03:07+24:00", "2026-05-02 ", " 2026-05-02", "2026-05-02Z",
            "1970-01-01T00:00:00+01:00", "２０２６-05-02", "+026-05-02", "2026-05-02T14:03:07ZZ",
        ])
    func refused(_ text: String) {
        #expect(DateArgument(text) == nil)
    }
}
