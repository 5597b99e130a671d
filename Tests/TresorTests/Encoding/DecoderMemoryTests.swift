// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

#if os(Linux)
    import CProbe
    import Foundation
    import TestSupport
    import Testing

    @testable import Tresor
    @testable import TresorCore

    /// No decoder takes more memory than three times its input and 1 MiB. Each test is a process that is not given
    /// more; another thread of the runtime would take some of it.
    @Suite(.longRun, .disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
    struct DecoderMemoryTests {
        /// That the limit holds: without it the other tests would say nothing.
        @Test func A19_whatTakesMoreFails() async {
            await #expect(processExitsWith: .failure) {
                guard probe_limit_memory(1 << 20) != 0 else { exit(0) }
                let bytes = [UInt8](repeating: 1, count: 16 << 20)
                exit(bytes.last == 1 ? 0 : 1)
            }
        }

        /// The start of every object, then lengths of 2^32−1 and nothing, or only what was there.
        @Test func A19_lengthsOfFourGigabytesTakeNothing() async {
            await #expect(processExitsWith: .exitCode(42)) {
                var hostile: [(read: @Sendable ([UInt8]) throws -> [UInt8], bytes: [UInt8])] = []
                for specimen in try await Specimen.all() {
                    for count in 1...32 {
                        let start = specimen.bytes.prefix(10)
                        hostile.append((specimen.read, start + [UInt8](repeating: 0xff, count: count)))
                    }
                    for (offset, width) in specimen.lengths {
                        var bytes = specimen.bytes
                        bytes.replaceSubrange(offset..<(offset + width), with: [UInt8](repeating: 0xff, count: width))
                        hostile += [(specimen.read, bytes), (specimen.read, Array(bytes.prefix(offset + width)))]
                    }
                    _ = try specimen.read(specimen.bytes)
                }
                guard probe_limit_memory(1 << 20) != 0 else { exit(1) }
                let isRefused = hostile.allSatisfy { hostile in
                    let error = error { _ = try hostile.read(hostile.bytes) }
                    return error == .altered || error == .unsupported
                }
                exit(isRefused ? 42 : 1)
            }
        }

        /// Endless streams after a valid beginning: zeros, ones, the object once more, and once more.
        @Test func A19_longStreamsTakeNoMoreThanThreeTimesTheirSize() async {
            await #expect(processExitsWith: .exitCode(42)) {
                let count = 1 << 20
                var hostile: [(read: @Sendable ([UInt8]) throws -> [UInt8], bytes: [UInt8])] = []
                let names = ["card", "identity file", "wrap", "sealed file", "genesis", "grant", "remove", "rename"]
                for specimen in try await Specimen.all() where names.contains(specimen.name) {
                    for tail in [[0], [0xff], specimen.bytes, Array(specimen.bytes.dropFirst(10))] as [[UInt8]] {
                        let repeated = [[UInt8]](repeating: tail, count: count / tail.count).flatMap { $0 }
                        hostile.append((specimen.read, specimen.bytes + repeated))
                    }
                    _ = try specimen.read(specimen.bytes)
                }
                guard probe_limit_memory(3 * count + (1 << 20)) != 0 else { exit(1) }
                for hostile in hostile {
                    let error = error { _ = try hostile.read(hostile.bytes) }
                    guard error == nil || error == .altered || error == .unsupported else { exit(1) }
                }
                exit(42)
            }
        }

        @Test func A19_A22_longArmourTakesNoMoreThanThreeTimesItsSize() async {
            await #expect(processExitsWith: .exitCode(42)) {
                let count = 4 << 20
                let whole = Armour.card.armour([UInt8](repeating: 7, count: count / 4 * 3))
                let start = Array("-----BEGIN TRESOR CARD-----\n".utf8)
                let end = Array("\n-----END TRESOR CARD-----\n".utf8)
                let fillings = [UInt8](" \n\rA=-".utf8) + [0, 0xff]
                let hostile = fillings.map { start + [UInt8](repeating: $0, count: count) + end }
                guard (try Armour.card.dearmour(Armour.card.armour([1]))) == [1],
                    probe_limit_memory(3 * count + (1 << 20)) != 0
                else { exit(1) }
                for text in hostile where error({ _ = try Armour.card.dearmour(text) }) != .altered { exit(1) }
                exit((try Armour.card.dearmour(whole)).count == count / 4 * 3 ? 42 : 1)
            }
        }

        /// A page of the greatest entries, of which none is good.
        @Test func A19_A73_aPageOfGreatEntriesTakesNoMoreThanThreeTimesItsSize() async {
            await #expect(processExitsWith: .exitCode(42)) {
                let chronicle = try Chronicle(founder: try identity("anna"))
                let rename = try chronicle.entry(.rename(RenameBody(try Chronicle.anyName())), by: chronicle.founder)
                    .bytes
                var pages: [[[UInt8]]] = []
                for filling: UInt8 in [0, 0xff] {
                    let body = [UInt8](repeating: filling, count: Entry.maximumByteCount - 132 - 64)
                    let entry = rename.prefix(128) + bigEndianBytes(UInt32(body.count)) + body + rename.suffix(64)
                    pages.append([[UInt8]](repeating: Array(entry), count: 8))
                }
                let byteCount = 8 * Entry.maximumByteCount
                var fold = Fold(state: chronicle.state)
                _ = error { try fold.apply([rename, rename]) }
                guard probe_limit_memory(3 * byteCount + (1 << 20)) != 0 else { exit(1) }
                for page in pages {
                    var fold = Fold(state: chronicle.state)
                    let error = error { try fold.apply(page) }
                    guard error == .altered || error == .unsupported else { exit(1) }
                }
                exit(42)
            }
        }
    }
#endif
