// SPDX-License-Identifier: Apache-2.0

@_spi(_Unicode) import Swift

/// The look of a name (SPEC §7.8): names with one skeleton can be taken for each other.
///
/// It is for the eye alone. A name is never looked up, compared or kept by its skeleton.
package struct Skeleton: Hashable, Sendable {
    private let bytes: [UInt8]

    package init(of name: Name) {
        var shape = String.UnicodeScalarView()
        for scalar in name.text._nfd where !scalar.properties.isDefaultIgnorableCodePoint {
            shape.append(Self.letters[Self.narrow(scalar)] ?? Self.narrow(scalar))
        }
        let text = String(shape).replacing("rn", with: "m").replacing("vv", with: "w")
        bytes = Array(text.utf8)
    }

    /// A code point that poses as a character of ASCII.
    package struct Disguise: Hashable, Sendable {
        /// The code point.
        package let codePoint: Unicode.Scalar
        /// The character that it looks like.
        package let look: Unicode.Scalar
        /// Whether Latin letters stand beside it.
        package let isMixed: Bool

        /// `U+0430 looks like "a"`.
        package var text: String { "\(code) looks like \"\(look)\"" }

        /// `U+0430`.
        package var code: String {
            let digits = String(codePoint.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    /// The first code point that poses as ASCII in a name that reads as Latin text and is typed otherwise (SPEC §7.8);
    /// `nil` for any other name. It needs nobody to compare the name with.
    package static func disguise(in name: Name) -> Disguise? {
        var first: (codePoint: Unicode.Scalar, look: Unicode.Scalar)?
        var (hasLatin, hasOther) = (false, false)
        for scalar in name.text._nfd where scalar.properties.isAlphabetic || !scalar.isASCII {
            let look = letters[narrow(scalar)] ?? narrow(scalar)
            if scalar.value >= firstBehindLatin, look.isASCII {
                if first == nil { first = (scalar, look) }
                // Such a letter reads as what it is where no Latin stands beside it: a small one that looks like a capital or
                // a digit, or only nearly like a small one.
                let isLatin = ("a"..."z").contains(look) && !nearlyLatin.contains(scalar)
                if scalar.properties.isLowercase, !isLatin { hasOther = true }
            } else if scalar.properties.isAlphabetic {
                if scalar.value < firstBehindLatin { hasLatin = true } else { hasOther = true }
            }
        }
        guard let first, hasLatin || !hasOther else { return nil }
        return Disguise(codePoint: first.codePoint, look: first.look, isMixed: hasLatin)
    }

    /// The code points before this one are ASCII, and the letters of Latin that many languages write.
    private static let firstBehindLatin: UInt32 = 0x180

    /// Small letters of Cyrillic that are taken for Latin ones beside others, and are read as Cyrillic alone.
    private static let nearlyLatin: Set<Unicode.Scalar> = ["\u{433}", "\u{43a}", "\u{43f}", "\u{442}", "\u{44c}"]

    /// The ASCII character of a full-width form.
    private static func narrow(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard (0xff01...0xff5e).contains(scalar.value) else { return scalar }
        return Unicode.Scalar(UInt8(scalar.value - 0xfee0))
    }

    /// For each character, the one that stands for all that look like it.
    private static let letters: [Unicode.Scalar: Unicode.Scalar] = {
        var letters: [Unicode.Scalar: Unicode.Scalar] = [:]
        for row in rows {
            guard let first = row.unicodeScalars.first else { continue }
            for scalar in row.unicodeScalars { letters[scalar] = first }
        }
        return letters
    }()

    /// Latin, Greek and Cyrillic letters and the signs of handles. The characters of a row look alike; the first one
    /// stands for them. Written by code point: nobody could review them otherwise.
    private static let rows = [
        "a\u{251}\u{3b1}\u{430}", "A\u{391}\u{410}", "b\u{184}\u{42c}\u{44c}", "B\u{392}\u{412}\u{432}",
        "c\u{3f2}\u{441}\u{1d04}", "C\u{3f9}\u{421}", "d\u{501}", "e\u{435}\u{4bd}", "E\u{395}\u{415}", "f\u{3dd}",
        "F\u{3dc}", "g\u{261}", "G\u{50c}", "h\u{4bb}", "H\u{397}\u{41d}\u{43d}", "i\u{131}\u{269}\u{3b9}\u{456}",
        "j\u{3f3}\u{458}", "J\u{37f}\u{408}", "k\u{138}\u{3ba}\u{43a}", "K\u{39a}\u{41a}",
        "l1I|\u{1c0}\u{399}\u{406}\u{4c0}\u{4cf}", "M\u{39c}\u{41c}\u{3fa}", "n\u{3b7}\u{43f}", "N\u{39d}",
        "o0O\u{39f}\u{3bf}\u{3c3}\u{41e}\u{43e}\u{1d0f}", "p\u{3c1}\u{440}", "P\u{3a1}\u{420}", "q\u{51b}",
        "r\u{433}", "s\u{455}", "S\u{405}", "t\u{3c4}\u{442}", "T\u{3a4}\u{422}", "u\u{3c5}\u{1d1c}",
        "v\u{3bd}\u{475}\u{1d20}", "V\u{474}", "w\u{461}\u{51d}\u{1d21}", "W\u{51c}", "x\u{3c7}\u{445}",
        "X\u{3a7}\u{425}", "y\u{3b3}\u{443}\u{4af}", "Y\u{3a5}\u{423}\u{4ae}", "z\u{1d22}", "Z\u{396}",
        "\u{df}\u{3b2}", "3\u{1b7}\u{417}\u{437}\u{4e0}", "6\u{431}",
        "-\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}", ".\u{2024}",
        " \u{a0}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{202f}\u{205f}\u{3000}",
    ]
}
