// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Setting the log-in, at a service that may keep and show anything.
extension LoginTests {
    /// The statements of the accounts that a registration showed.
    private final class Shown: Sendable {
        let statements = Mutex<[LoginStatement?]>([])
    }

    @Test func registrationIsRepeatedUntilTheLogInOpensTheNewestKeys() async throws {
        let short = await failure { _ = try await login(anna.client).register(Password("7 chars")) }
        #expect(short == .usage(.passwordTooShort))
        #expect(service.take().isEmpty)
        #expect(try await register("first").before == nil)
        let again = try await register("first")
        #expect(!again.isSet && again.before?.statement?.revision == 1)
        service.hasRecord = false
        #expect(try await register("first").isSet && service.kept?.statement.revision == 2)
        // A home that never saw the log-in sets its own password.
        hers.delete(.knownLogins)
        #expect(try await register("first").isSet && service.kept?.statement.revision == 3)
        let kit: RecoveryKit? = nil
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        #expect(try await register("new", as: renewed).isSet && service.kept?.statement.generation == 1)
        #expect(try await !register("new", as: renewed).isSet)
    }

    @Test func whatTheServiceDidNotKeepIsNotSet() async throws {
        try await register("first")
        service.keepsRecords = false
        #expect(await failure { try await register("second", replaces: true) } == .store(.notStored))
        service.keepsRecords = true
        service.keepsStatements = false
        #expect(await failure { try await register("third", replaces: true) } == .store(.notStored))
    }

    @Test func A122_aServiceThatLostTheLogInIsSentNoRecord() async throws {
        try await register("first")
        let before = hers.contents
        service.kept = nil
        _ = service.take()
        // As one that begins anew, and as one that has the account alone.
        #expect(await failure { try await register("second", replaces: true) } == .forked)
        #expect(await failure { _ = try await login(anna.client).account() } == .forked)
        #expect(!service.take().contains(.finish) && hers.contents == before)
    }

    @Test func aLogInThatAnotherMachineSetIsTold() async throws {
        try await register("first")
        let home = MemoryHome()
        let desk = try await enter(home, with: "first")
        #expect(try await !register("first", as: desk).isSetElsewhere)
        try await register("second", replaces: true)
        let seen = try await register("first", as: desk)
        #expect(!seen.isSet && seen.isSetElsewhere)
        #expect(try await !register("first", as: desk).isSetElsewhere)
    }

    /// The failures of a log-in are told while the service still counts them.
    @Test func theAccountIsShownBeforeItsStatementIsReplaced() async throws {
        try await register("first")
        let first = service.kept?.statement
        service.keepsStatements = false
        let shown = Shown()
        let error = await failure {
            _ = try await login(anna.client).register(password("second"), replaces: true) { account in
                shown.statements.withLock { $0.append(account.statement) }
            }
        }
        let seen = shown.statements.withLock { $0 }
        #expect(error == .store(.notStored) && seen == [first])
    }

    /// A command that is killed before it sets the log-in is resumed.
    @Test func aRenewalGoesOnUntilTheLogInIsSet() async throws {
        try await register("first")
        let kit: RecoveryKit? = nil
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        try await renewed.renewal.introduce()
        #expect(try renewed.renewal.isUnfinishedBlocking())
        #expect(try await register("new", replaces: true, as: renewed).isSet)
        _ = try await renewed.renewal.finishInEachTresor(isIntroduced: true)
        #expect(try !renewed.renewal.isUnfinishedBlocking())
        #expect(service.kept?.statement.generation == 1)
    }
}
