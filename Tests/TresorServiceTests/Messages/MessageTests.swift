// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TresorCrypto

@testable import TresorCore

/// The messages of the service: one form, and a typed error for everything else.
@Suite struct MessageTests {
    private static func isRefused(_ specimen: MessageSpecimen, _ bytes: [UInt8]) -> Bool {
        do {
            _ = try specimen.recode(bytes)
            return false
        } catch {
            return (error as? TresorError).map { [.altered, .unsupported].contains($0) } == true
        }
    }

    /// Whether the bytes are refused with a typed error, or are the one form of what they are read as.
    private static func isTotal(_ specimen: MessageSpecimen, _ bytes: [UInt8]) -> Bool {
        if let form = try? specimen.recode(bytes) { return form == bytes }
        return isRefused(specimen, bytes)
    }

    @Test func everyMessageIsReadBack() throws {
        let specimens = try MessageSpecimen.all()
        for specimen in specimens {
            #expect(try specimen.isReadBack(), "\(specimen)")
            #expect(try specimen.recode(specimen.bytes) == specimen.bytes, "\(specimen)")
        }
        let names = Set(specimens.map(\.name))
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: "Sources/TresorCore/Service")
        var declared: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /package struct (\w+): (?:ServiceMessage|ServiceRequest|EmptyMessage)/) {
                declared.insert(String(match.1))
            }
        }
        #expect(declared.count > 40 && names == declared)
    }

    @Test func aBodyThatIsCutIsRefused() throws {
        for specimen in try MessageSpecimen.all() {
            for count in specimen.bytes.indices {
                #expect(Self.isRefused(specimen, Array(specimen.bytes[..<count])), "\(specimen), \(count) bytes")
            }
        }
    }

    @Test func aBodyThatGoesOnIsRefused() throws {
        for specimen in try MessageSpecimen.all() {
            for tail in [[0], [1, 2, 3, 4], specimen.bytes.isEmpty ? [9] : specimen.bytes] as [[UInt8]] {
                #expect(Self.isRefused(specimen, specimen.bytes + tail), "\(specimen)")
            }
        }
    }

    @Test func aTurnedBitIsRefusedOrAnotherMessage() throws {
        for specimen in try MessageSpecimen.all() {
            for place in specimen.bytes.indices {
                for bit in 0..<8 {
                    var bytes = specimen.bytes
                    bytes[place] ^= 1 << UInt8(bit)
                    #expect(Self.isTotal(specimen, bytes), "\(specimen), byte \(place), bit \(bit)")
                }
            }
        }
    }

    /// Counts and lengths of the greatest value, at every place.
    @Test func aLengthThatPromisesTooMuchIsRefusedOrAnotherMessage() throws {
        for specimen in try MessageSpecimen.all() {
            for place in specimen.bytes.indices {
                for width in [1, 2, 4, 8] where place + width <= specimen.bytes.count {
                    var bytes = specimen.bytes
                    bytes.replaceSubrange(place..<(place + width), with: [UInt8](repeating: 0xff, count: width))
                    #expect(Self.isTotal(specimen, bytes), "\(specimen), \(width) bytes at \(place)")
                }
            }
        }
    }

    @Test func anyBytesAreRefusedOrAMessage() throws {
        var generator = SeededGenerator(seed: LongRun.seed)
        for specimen in try MessageSpecimen.all() {
            for _ in 0..<300 {
                let count = Int.random(in: 0...96, using: &generator)
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) % 5 }
                #expect(Self.isTotal(specimen, bytes), "\(specimen): \(bytes)")
            }
        }
    }

    @Test func everyRequestIsThatOfItsOperation() {
        let requests: [any ServiceRequest.Type] = [
            ServerRequest.self, CardRequest.self, CardsRequest.self, UsersRequest.self, PutCardRequest.self,
            EntriesRequest.self, AppendRequest.self, WrapsRequest.self, PutWrapsRequest.self, TresorsRequest.self,
            NewsRequest.self, PutServerShareRequest.self, ServerShareRequest.self, DeleteServerSharesRequest.self,
            PutKitCopyRequest.self, KitCopyRequest.self, DeleteKitCopyRequest.self, RegisterRequest.self,
            FinishRequest.self, AccountRequest.self, EndSessionsRequest.self, InboxRequest.self, AdmitRequest.self,
            InviteRequest.self, DeleteTresorRequest.self, DeleteAccountRequest.self, PutBlobRequest.self,
            BlobRequest.self, BlobsRequest.self, DeleteBlobsRequest.self, PutOfferRequest.self, LoginRequest.self,
            FinishLoginRequest.self,
        ]
        #expect(Set(requests.map { $0.operation }) == Set(ServiceOperation.allCases))
        #expect(requests.count == ServiceOperation.allCases.count)
    }

    @Test func everyOperationIsANameOfATarget() {
        for operation in ServiceOperation.allCases {
            #expect((1...ServiceOperation.maximumNameByteCount).contains(operation.rawValue.utf8.count))
            #expect(operation.rawValue.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x2d })
        }
    }
}
