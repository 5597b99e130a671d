// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The mailboxes of two machines of one person, without the checks of the service.
    extension RealServiceTests {
        private static func has(_ locator: Hash256, _ signer: Signer) async throws -> Bool {
            try await !signer.ask(KitCopyRequest(locator: locator)).copy.isEmpty
        }

        @Test func A161_withoutTheChecksMailboxesStay() async throws {
            try await Self.expectReal(without: .mailboxTime) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let mailbox = DeviceMailbox(until: bench.clock.now + 100_000)
                _ = try await anna.reply(PutKitCopyRequest(locator: .zero, copy: mailbox.bytes))
                return try await Self.has(.zero, anna)
            }
            try await Self.expectReal(without: .endedMailbox) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let mailbox = DeviceMailbox(until: bench.clock.now)
                _ = try await anna.ask(PutKitCopyRequest(locator: .zero, copy: mailbox.bytes))
                bench.clock.now += DeviceOffer.clockWindow + 1
                return try await Self.has(.zero, anna)
            }
            try await Self.expectReal(without: .oneMailbox) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let mailbox = DeviceMailbox(until: bench.clock.now)
                _ = try await anna.ask(PutKitCopyRequest(locator: .zero, copy: mailbox.bytes))
                _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: mailbox.bytes))
                return try await Self.has(.zero, anna)
            }
        }
    }
#endif
