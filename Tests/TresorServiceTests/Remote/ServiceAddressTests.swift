// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorRemote

@Suite struct ServiceAddressTests {
    @Test(arguments: [
        ("https://Tresor.Example.org", "https://tresor.example.org"),
        ("https://tresor.example.org/", "https://tresor.example.org"),
        ("https://tresor.example.org:443", "https://tresor.example.org"),
        ("https://tresor.example.org:8443/", "https://tresor.example.org:8443"),
        ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"), ("https://192.0.2.1", "https://192.0.2.1"),
        ("http://localhost:8080", "http://localhost:8080"), ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://127.255.0.9:1", "http://127.255.0.9:1"), ("http://[::1]:8080", "http://[::1]:8080"),
    ])
    func anAddressHasOneForm(_ text: String, _ form: String) throws {
        #expect(try ServiceAddress(text).description == form)
    }

    @Test(arguments: [
        "", "https://", "tresor.example.org", "ftp://a", "HTTPSS://a", "https://a b", "https://a/path", "https://a//",
        "https://a?b", "https://a#b", "https://user@a", "https://a:", "https://a:0", "https://a:65536", "https://a:+1",
        "https://a:1:2", "https://[::1", "https://::1", "https://[]", "https://[1.2.3.4]", "https://-a", "https://.a",
        "https://ä", "https://a\u{0}", "https://a\r\nHost: b", "https://" + String(repeating: "a", count: 300),
        "http://tresor.example.org", "http://192.0.2.1", "http://128.0.0.1", "http://localhost.example.org",
        "http://127.0.0.1.example.org", "http://[::2]",
    ])
    func anotherFormIsRefused(_ text: String) {
        #expect(throws: TresorError.usage(.address)) { try ServiceAddress(text) }
    }
}
