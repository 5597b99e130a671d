// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The claims of a file about itself, and sizes beyond the limits of a command.
@Suite struct ClaimTests {
    private let stage: Stage

    init() throws {
        stage = try Stage("anna")
        try stage.share(of: "anna")
    }

    /// Nothing in the file is true. The command shows it as a claim of its author.
    @Test func A102_inventedHeadersArePrintedAsClaims() throws {
        let tresor = TresorID(try #require(Hash256([UInt8](repeating: 0xa7, count: 32))))
        let head = Head(sequence: 4_294_967_295, hash: try #require(Hash256([UInt8](repeating: 0x5c, count: 32))))
        let header = FileHeader(tresor: tresor, epoch: 77_000_000_077, head: head)
        try stage.write(header.bytes + [UInt8](repeating: 9, count: TC1.sealedByteCount(512)), to: "lie.tresor")
        let claims = [tresor.description, "77000000077", "4294967295", Base32.text(head.hash.bytes)]
        let before = try stage.contents(of: "homes")
        let text = try stage.expect(as: "anna", ["inspect", "lie.tresor"])
        let object = try stage.expect(as: "anna", ["--json", "inspect", "lie.tresor"])
        for claim in claims { #expect(text.contains(claim) && object.contains(claim), "\(claim)") }
        #expect(text.contains("what follows is not proved"))
        #expect(object.contains("\"proved\":false") || object.contains("\"proved\": false"))
        let nobody = try stage.program.run([
            "--home", stage.scratch["homes/nobody"], "--batch", "inspect", "lie.tresor",
        ])
        #expect(nobody.code == 0 && nobody.outputText == text)
        #expect(try stage.contents(of: "homes") == before)
        try stage.refuse(10, as: "anna", ["decrypt", "lie.tresor"])
    }

    /// The size that standard output accepts at once, and one byte more.
    @Test func A98_standardOutputTakesSixtyFourMebibytesAndNoMore() throws {
        for (count, code) in [(64 << 20, 0), ((64 << 20) + 1, 64)] as [(Int, Int32)] {
            let content = Data(repeating: 0x78, count: count)
            try content.write(to: URL(fileURLWithPath: stage.scratch["plan.json"]))
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
            for (words, input) in [(["plan.tresor"], "/dev/null"), ([], stage.scratch["plan.tresor"])]
            where code != 0 || !words.isEmpty {
                let ending = try stage.run(as: "anna", ["decrypt"] + words, input: input)
                #expect(ending.code == code, "\(ending.errorText)")
                if code == 0 {
                    let isWhole = Data(ending.output) == content
                    #expect(isWhole)
                } else {
                    #expect(ending.output.isEmpty)
                    #expect(ending.errorText.contains(/hint: tresor decrypt .*-o FILE/), "\(ending.errorText)")
                }
            }
        }
    }
}
