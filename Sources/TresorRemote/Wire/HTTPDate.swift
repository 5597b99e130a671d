// SPDX-License-Identifier: Apache-2.0

/// The dates of HTTP, in the one form that is still written (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let byteCount = 29
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date of 1970 or later as seconds since 1970; `nil` for another form. The day of the week is not compared.
    static func seconds(_ text: some Collection<UInt8>) -> UInt64? {
        let text = Array(text)
        guard text.count == byteCount, String(decoding: text[3..<5], as: UTF8.self) == ", ",
            String(decoding: text[25...], as: UTF8.self) == " GMT",
            [7, 11, 16].allSatisfy({ text[$0] == UInt8(ascii: " ") }),
            [19, 22].allSatisfy({ text[$0] == UInt8(ascii: ":") }),
            let month = months.firstIndex(of: String(decoding: text[8..<11], as: UTF8.self)),
            let day = number(text[5..<7], in: 1...31), let year = number(text[12..<16], in: 1970...9999),
            let hour = number(text[17..<19], in: 0...23), let minute = number(text[20..<22], in: 0...59),
            let second = number(text[23..<25], in: 0...60)
        else { return nil }
        let seconds = (days(year, month + 1, day) * 24 + hour) * 3600 + minute * 60 + second
        return UInt64(seconds)
    }

    private static func number(_ digits: ArraySlice<UInt8>, in range: ClosedRange<Int>) -> Int? {
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return range.contains(value) ? value : nil
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that a leap day is
    /// the last day of its year.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
