// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor
import TresorCore

@testable import TresorCommand

@Suite("Text from others")
struct ShownTests {
    @Test(
        "A usual name is shown as it is",
        arguments: ["anna", "dr-house", "plan.json", "a@b.org", "Zoë", "名前", "क्षि", "x_1+2", "佐々木", "ロード", "٣"])
    func usual(_ name: String) {
        #expect(DisplayText.name(name) == name)
        #expect(DisplayText.name(Array(name.utf8)) == name)
    }

    @Test(
        "Anything else is quoted, and what could move a cursor is escaped",
        arguments: [
            ("", #""""#),
            ("ward 3", #""ward 3""#),
            ("-rf", #""-rf""#),
            ("a\"b\\c", #""a\"b\\c""#),
            ("a\nb\tc\rd", #""a\nb\tc\rd""#),
            ("\u{1b}[2J", #""\u{1b}[2J""#),
            ("a\u{85}b", #""a\u{85}b""#),
            ("a\u{202e}b", #""a\u{202e}b""#),
            ("a\u{2066}b", #""a\u{2066}b""#),
            ("a\u{200b}b", #""a\u{200b}b""#),
            ("a\u{2028}b", #""a\u{2028}b""#),
            ("a\u{a0}b", #""a\u{a0}b""#),
            ("a\u{e000}b", #""a\u{e000}b""#),
            ("a\u{378}b", #""a\u{378}b""#),
            ("a\u{3164}b", #""a\u{3164}b""#),
            ("\u{301}a", "\"\u{301}a\""),
            ("\u{a4f9}", "\"\u{a4f9}\""),
            ("anna\u{a4f9}bert", "\"anna\u{a4f9}bert\""),
            ("anna\u{2bc}", "\"anna\u{2bc}\""),
            ("anna\u{2d0}x", "\"anna\u{2d0}x\""),
            ("\u{30fc}", "\"\u{30fc}\""),
            ("anna\u{1c3}", "\"anna\u{1c3}\""),
            ("anna\u{294}x", "\"anna\u{294}x\""),
            ("anna\u{a78b}x", "\"anna\u{a78b}x\""),
            ("anna\u{a78c}x", "\"anna\u{a78c}x\""),
            ("anna\u{a78f}x", "\"anna\u{a78f}x\""),
            ("anna\u{141f}x", "\"anna\u{141f}x\""),
            ("anna\u{1420}x", "\"anna\u{1420}x\""),
            ("anna\u{1427}x", "\"anna\u{1427}x\""),
            ("anna\u{1428}x", "\"anna\u{1428}x\""),
            ("anna\u{1429}x", "\"anna\u{1429}x\""),
            ("anna\u{144a}x", "\"anna\u{144a}x\""),
            ("anna\u{2488}x", "\"anna\u{2488}x\""),
            ("anna\u{1f101}x", "\"anna\u{1f101}x\""),
            ("x\u{7f}", #""x\u{7f}""#),
            ("tresor: error: x", #""tresor: error: x""#),
        ])
    func unusual(_ name: String, _ shown: String) {
        #expect(Array(DisplayText.name(name).utf8) == Array(shown.utf8))
    }

    @Test("Bytes that are not UTF-8 are shown one by one")
    func invalid() {
        #expect(DisplayText.name([0x61, 0xff, 0x22, 0x0a]) == #""a\xff\"\x0a""#)
    }

    @Test("A sentence keeps its quotes and loses its escapes")
    func sentence() {
        #expect(DisplayText.escaped("there is \"a\u{1b}\"") == #"there is "a\u{1b}""#)
    }

    @Test(
        "Only text without control characters goes to a terminal",
        arguments: [
            ("{\"a\":\t1}\r\n", true), ("äöü 名前", true), ("", true), ("a\u{1b}[2J", false), ("a\u{9b}2J", false),
            ("a\u{0}", false), ("a\u{8}", false), ("\u{7f}", false), ("a\rb", false), ("a\r", false),
            ("a\r\r\n", false), ("a\u{202e}b", false), ("a\u{2067}b", false), ("a\u{2028}b", false),
            ("a\u{200c}b", false),
            ("a\u{e0020}b", false), ("a\u{fff9}b", false), ("\u{2764}\u{fe0f}", true), ("a\u{a0}b", true),
            ("\u{600}", true),
        ])
    func terminal(_ text: String, _ isFit: Bool) {
        let bytes = Array(text.utf8)
        let found = DisplayText.isTextForTerminal(bytes.span)
        #expect(found == isFit)
    }

    @Test("Bytes that are no text do not go to a terminal")
    func binary() {
        let bytes: [UInt8] = [0x61, 0xc3, 0x28]
        let found = DisplayText.isTextForTerminal(bytes.span)
        #expect(!found)
    }

    @Test(
        "A path is fit to be pasted into a shell",
        arguments: [
            ("plan.json", "plan.json"), ("my file", "'my file'"), ("it's", "'it'\\''s'"), ("-x", "./-x"), ("", "''"),
            ("$(x)", "'$(x)'"), ("x'\u{301};id", "'x'\\''\u{301};id'"), ("-\u{301}x", "'./-\u{301}x'"),
        ])
    func shell(_ path: String, _ word: String) {
        #expect(Array(Shell.path(path).utf8) == Array(word.utf8))
    }

    @Test("A name that a shell's reader would take for an option is given by its id", arguments: ["-rf", "-\u{301}x"])
    func option(_ text: String) throws {
        let name = try Name(Array(text.utf8))
        #expect(Shell.word(name, or: "abcdefghijklmnop") == "abcdefghij")
        #expect(Shell.word(try Name(Array("x y".utf8)), or: "abcdefghijklmnop") == "'x y'")
        #expect(Suggestion.near("rf", among: [text, "rf2"]) == ["rf2"])
    }
}
