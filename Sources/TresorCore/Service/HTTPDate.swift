// SPDX-License-Identifier: Apache-2.0

/// The dates of HTTP, in the one form that is still written (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let byteCount = 29
    /// From the first of January 1970 on, which was a Thursday.
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date of 1970 or later as seconds since 1970; `nil` for another form. The day of the week is not compared.
    package static func seconds(_ text: some Collection<UInt8>) -> UInt64? {
        let text = Array(text)
        guard text.count == byteCount, String(decoding: text[3..<5], as: UTF8.self) == ", ",
            String(decoding: text[25...], as: UTF8.self) == " GMT",
            [7, 11, 16].allSatisfy({ text[$0] == UInt8(ascii: " ") }),
            [19, 22].allSatisfy({ text[$0] == UInt8(ascii: ":") }),
            let month = months.firstIndex(of: String(decoding: text[8..<11], as: UTF8.self)),
            let day = number(text[5..<7], in: 1...31), let year = number(text[12..<16], in: 1970...9999),
            let hour = number(text[17..<19], in: 0...23), let minute = number(text[20..<22], in: 0...59),
            let second = number(text[23..<25], in: 0...60),
            let date = CivilDay(year: year, month: UInt64(month) + 1, day: day)
        else { return nil }
        return date.dayCount * CivilDay.secondsPerDay + (hour * 60 + minute) * 60 + second
    }

    /// Writes a time in seconds since 1970.
    package static func text(_ seconds: UInt64) -> String {
        let date = CivilDay(at: seconds)
        let month = months[Int(date.month) - 1]
        return "\(days[Int(date.dayCount % 7)]), \(CivilDay.padded(date.day, 2)) \(month) \(date.year) "
            + "\(CivilDay.clock(at: seconds)) GMT"
    }

    private static func number(_ digits: ArraySlice<UInt8>, in range: ClosedRange<UInt64>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return range.contains(value) ? value : nil
    }
}
