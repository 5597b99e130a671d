# SPDX-License-Identifier: Apache-2.0
"""SPEC §4: binary form, armour, ids as text, names. encoding.json, text.json."""
import base64
import binascii
import unicodedata

from verify.sections.conventions import LAST_TIME, Refused, require, u16, u32, u8


# 4.1 Binary form

class Reader:
    """Reads fields in the order in which they stand; the first failure decides."""

    def __init__(self, data):
        self.data = bytes(data)
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        require(self.left() >= n)
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, width): return int.from_bytes(self.take(width), "big")
    def u8(self): return self.number(1)
    def u16(self): return self.number(2)
    def u32(self): return self.number(4)
    def u64(self): return self.number(8)
    def digest(self): return self.take(32)

    def opaque16(self, least, most):
        length = self.u16()
        require(least <= length <= most)
        return self.take(length)

    def opaque32(self, least, most):
        length = self.u32()
        require(least <= length <= most)
        return self.take(length)

    def name(self, least=0):
        value = self.opaque16(least, 256)
        check_name(value)
        return value

    def time(self):
        value = self.u64()
        require(value <= LAST_TIME)
        return value

    def mark(self):
        value = self.u8()
        require(value in (0, 1))
        return value

    def magic(self, wanted):
        found = self.take(8)
        if found != wanted:
            raise Refused("unsupported" if found[:6] == b"tresor" else "altered")

    def suite(self):
        require(self.u8() == 1, "unsupported")

    def preamble(self, wanted):
        self.magic(wanted)
        require(self.u8() == 1, "unsupported")
        self.suite()

    def end(self):
        require(self.left() == 0)


def preamble(magic):
    return magic + u8(1) + u8(1)


def opaque16(x): return u16(len(x)) + x
def opaque32(x): return u32(len(x)) + x


MAGICS = [b"tresor" + end for end in (b"C1", b"I1", b"E1", b"W1", b"F1", b"P2", b"H2", b"L1", b"V1", b"B1", b"D1", b"K1", b"Y1", b"O1", b"S2", b"N1", b"Z1",
                               b"T1", b"X1", b"Q1", b"U1", b"x1", b"n1", b"a1", b"R1", b"G1", b"b1", b"d1", b"w1",
                               b"i1")]

# 4.2 Armour

CARD_ARMOUR, FILE_ARMOUR = b"TRESOR CARD", b"TRESOR FILE"


def is_armour(data):
    return data.startswith(b"-----BEGIN ")


def armour(data, kind, eol=b"\n"):
    text = base64.b64encode(data)
    lines = [text[i:i + 64] for i in range(0, len(text), 64)]
    return b"".join(line + eol for line in [b"-----BEGIN " + kind + b"-----"] + lines + [b"-----END " + kind + b"-----"])


def dearmour(text, kind):
    """There is one form for given bytes and a given line end: decode what can be decoded, make it again, compare."""
    for eol in (b"\n", b"\r\n"):
        begin, end = b"-----BEGIN " + kind + b"-----" + eol, b"-----END " + kind + b"-----" + eol
        if text.startswith(begin) and text.endswith(end) and len(text) >= len(begin) + len(end):
            body = text[len(begin):len(text) - len(end)].replace(eol, b"")
            try:
                data = base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError):
                continue
            if armour(data, kind, eol) == text:
                return data
    raise Refused("altered")


# 4.3 Ids as text

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def id_text(data):
    bits = len(data) * 8
    length = -(-bits // 5)
    value = int.from_bytes(data, "big") << (5 * length - bits)
    return "".join(ALPHABET[(value >> 5 * (length - 1 - i)) & 31] for i in range(length))


def read_id(text):
    """A typed id, as the beginning of id texts that it stands for. What is no typed id stands for nothing."""
    require(6 <= len(text) <= 52, "not_found")
    result = ""
    for character in text:
        low = character.lower() if character.isascii() else character
        low = {"i": "1", "l": "1", "o": "0"}.get(low, low)
        require(low in ALPHABET, "not_found")
        result += low
    return result


# 4.4 Names

REFUSED_IN_NAMES = [
    (0x0000, 0x001F), (0x007F, 0x009F), (0x00AD, 0x00AD), (0x061C, 0x061C), (0x180E, 0x180E), (0xFEFF, 0xFEFF), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F), (0xFDD0, 0xFDEF)]
REFUSED_IN_NAMES += [(n << 16 | 0xFFFE, n << 16 | 0xFFFF) for n in range(17)]


def in_ranges(code, ranges):
    return any(first <= code <= last for first, last in ranges)


def check_name(data):
    require(len(data) <= 256)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("altered") from None
    require(not any(in_ranges(ord(c), REFUSED_IN_NAMES) for c in text))


def typed_name(text):
    """What a writer makes of a typed name, given as text or bytes."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("usage") from None
    name = nfc(text)
    require(name != "" and not name.startswith("-"), "usage")
    data = name.encode("utf-8")
    try:
        check_name(data)
    except Refused:
        raise Refused("usage") from None
    require(not any(category(c) == "Cn" for c in name), "usage")
    return data


# Characters that Unicode has, at least version 15.0 (§8.1). Python 3.11 knows 14.0; here are those that 15.0 added.
UNICODE_15 = [
    (0x0CF3, 0x0CF3, "Mc"), (0x0ECE, 0x0ECE, "Mn"), (0x10EFD, 0x10EFF, "Mn"), (0x1123F, 0x11240, "Lo"), (0x11241, 0x11241, "Mn"),
    (0x11B00, 0x11B09, "Po"), (0x11F00, 0x11F01, "Mn"), (0x11F02, 0x11F02, "Lo"), (0x11F03, 0x11F03, "Mc"), (0x11F04, 0x11F10, "Lo"),
    (0x11F12, 0x11F33, "Lo"), (0x11F34, 0x11F35, "Mc"), (0x11F36, 0x11F3A, "Mn"), (0x11F3E, 0x11F3F, "Mc"), (0x11F40, 0x11F40, "Mn"),
    (0x11F41, 0x11F41, "Mc"), (0x11F42, 0x11F42, "Mn"), (0x11F43, 0x11F4F, "Po"), (0x11F50, 0x11F59, "Nd"), (0x1342F, 0x1342F, "Lo"),
    (0x13439, 0x1343F, "Cf"), (0x13440, 0x13440, "Mn"), (0x13441, 0x13446, "Lo"), (0x13447, 0x13455, "Mn"), (0x1B132, 0x1B132, "Lo"),
    (0x1B155, 0x1B155, "Lo"), (0x1D2C0, 0x1D2D3, "No"), (0x1DF25, 0x1DF2A, "Ll"), (0x1E030, 0x1E06D, "Lm"), (0x1E08F, 0x1E08F, "Mn"),
    (0x1E4D0, 0x1E4EA, "Lo"), (0x1E4EB, 0x1E4EB, "Lm"), (0x1E4EC, 0x1E4EF, "Mn"), (0x1E4F0, 0x1E4F9, "Nd"), (0x1F6DC, 0x1F6DC, "So"),
    (0x1F774, 0x1F776, "So"), (0x1F77B, 0x1F77F, "So"), (0x1F7D9, 0x1F7D9, "So"), (0x1FA75, 0x1FA77, "So"), (0x1FA87, 0x1FA88, "So"),
    (0x1FAAD, 0x1FAAF, "So"), (0x1FABB, 0x1FABD, "So"), (0x1FABF, 0x1FABF, "So"), (0x1FACE, 0x1FACF, "So"), (0x1FADA, 0x1FADB, "So"),
    (0x1FAE8, 0x1FAE8, "So"), (0x1FAF7, 0x1FAF8, "So"), (0x31350, 0x323AF, "Lo")]

# Characters that later versions assigned, for a Python that knows them: to 17.0. There a password may not have them.
SINCE_15 = [
    (0x88F, 0x88F), (0x897, 0x897), (0xC5C, 0xC5C), (0xCDC, 0xCDC), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB), (0x1B4E, 0x1B4F),
    (0x1B7F, 0x1B7F), (0x1C89, 0x1C8A), (0x20C1, 0x20C1), (0x2427, 0x2429), (0x2B96, 0x2B96), (0x2FFC, 0x2FFF), (0x31E4, 0x31E5),
    (0x31EF, 0x31EF), (0xA7CB, 0xA7CF), (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7DA, 0xA7DC), (0xA7F1, 0xA7F1), (0xFBC3, 0xFBD2),
    (0xFD90, 0xFD91), (0xFDC8, 0xFDCE), (0x105C0, 0x105F3), (0x10940, 0x10959), (0x10D40, 0x10D65), (0x10D69, 0x10D85),
    (0x10D8E, 0x10D8F), (0x10EC2, 0x10EC7), (0x10ED0, 0x10ED8), (0x10EFA, 0x10EFC), (0x11380, 0x11389), (0x1138B, 0x1138B),
    (0x1138E, 0x1138E), (0x11390, 0x113B5), (0x113B7, 0x113C0), (0x113C2, 0x113C2), (0x113C5, 0x113C5), (0x113C7, 0x113CA),
    (0x113CC, 0x113D5), (0x113D7, 0x113D8), (0x113E1, 0x113E2), (0x116D0, 0x116E3), (0x11B60, 0x11B67), (0x11BC0, 0x11BE1),
    (0x11BF0, 0x11BF9), (0x11DB0, 0x11DDB), (0x11DE0, 0x11DE9), (0x11F5A, 0x11F5A), (0x13460, 0x143FA), (0x16100, 0x16139),
    (0x16D40, 0x16D79), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3), (0x16FF2, 0x16FF6), (0x187F8, 0x187FF), (0x18CFF, 0x18CFF),
    (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1CC00, 0x1CCFC), (0x1CD00, 0x1CEB3), (0x1CEBA, 0x1CED0), (0x1CEE0, 0x1CEF0),
    (0x1E5D0, 0x1E5FA), (0x1E5FF, 0x1E5FF), (0x1E6C0, 0x1E6DE), (0x1E6E0, 0x1E6F5), (0x1E6FE, 0x1E6FF), (0x1F6D8, 0x1F6D8),
    (0x1F777, 0x1F77A), (0x1F8B2, 0x1F8BB), (0x1F8C0, 0x1F8C1), (0x1F8D0, 0x1F8D8), (0x1FA54, 0x1FA57), (0x1FA89, 0x1FA8A),
    (0x1FA8E, 0x1FA8F), (0x1FABE, 0x1FABE), (0x1FAC6, 0x1FAC6), (0x1FAC8, 0x1FAC8), (0x1FACD, 0x1FACD), (0x1FADC, 0x1FADC),
    (0x1FADF, 0x1FADF), (0x1FAE9, 0x1FAEA), (0x1FAEF, 0x1FAEF), (0x1FBCB, 0x1FBEF), (0x1FBFA, 0x1FBFA), (0x2B73A, 0x2B73F),
    (0x2CEA2, 0x2CEAD), (0x2EBF0, 0x2EE5D), (0x323B0, 0x33479)]
COMBINING_15 = {0x10EFD: 220, 0x10EFE: 220, 0x10EFF: 220, 0x11F41: 9, 0x11F42: 9, 0x1E08F: 230,
                0x1E4EC: 232, 0x1E4ED: 232, 0x1E4EE: 220, 0x1E4EF: 230}
DEFAULT_IGNORABLE = [
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]


def category(character):
    found = unicodedata.category(character)
    if found == "Cn":
        for first, last, name in UNICODE_15:
            if first <= ord(character) <= last:
                return name
    return found


def nfc(text):
    if not any(ord(c) in COMBINING_15 for c in text) or unicodedata.unidata_version >= "15":
        return unicodedata.normalize("NFC", text)
    # A mark that this Python does not know blocks nothing and moves by its class: order by hand, then compose piece by piece.
    decomposed = unicodedata.normalize("NFD", text)
    combining = lambda c: COMBINING_15.get(ord(c)) or unicodedata.combining(c)
    ordered, run = [], []
    for c in decomposed:
        if combining(c):
            run.append(c)
        else:
            ordered += sorted(run, key=combining) + [c]
            run = []
    ordered += sorted(run, key=combining)
    # Composition by the algorithm of the Unicode standard (D117), pairs by the library.
    result, starter, last = [], None, 0
    for c in ordered:
        here = combining(c)
        if starter is not None and (last < here or (last == 0 and starter == len(result) - 1)):
            pair = unicodedata.normalize("NFC", result[starter] + c)
            if len(pair) == 1 and ord(c) not in COMBINING_15:
                result[starter] = pair
                continue
        if here == 0:
            starter = len(result)
        last = here
        result.append(c)
    return "".join(result)
