// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor
import TresorCore
import TresorCrypto

@testable import TresorCommand

@Suite struct CommandErrorTests {
    @Test(arguments: [
        (CommandError.failed(.other), "failed", Int32(1)), (.notFound, "not_found", 10), (.busy, "busy", 11),
        (.wrongPassword, "wrong_password", 12), (.noAccess, "no_access", 13), (.altered, "altered", 14),
        (.forked, "forked", 15), (.unverified, "unverified", 16), (.waiting, "waiting", 17),
        (.store(.withheld), "store", 18), (.unsupported, "unsupported", 19), (.usage, "usage", 64),
        (.interrupted, "interrupted", 130),
    ])
    func namesAndExitCodesAreStable(error: CommandError, name: String, exitCode: Int32) {
        #expect(error.name == name)
        #expect(error.exitCode == exitCode)
    }

    @Test func anErrorOfTheLibraryKeepsItsName() {
        let errors: [TresorError] = [
            .failed(.full), .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified,
            .waiting, .store(.behind), .unsupported, .usage(.lastOwner),
        ]
        for error in errors { #expect(CommandError(error).name == error.name) }
        for error in errors.dropLast() { #expect(CommandError(error).passedOn == error) }
        #expect(CommandError(.cancelled) == .interrupted)
        #expect(CommandError.interrupted.passedOn == .cancelled)
        #expect(CommandFailure(TresorError.cancelled).message == "interrupted")
        #expect(CommandFailure(TresorError.store(.certificate)).hints == ["tresor … {--store-ca} --store-ca FILE"])
        for error in [TresorError.unverified, .busy] {
            #expect(ApproveCommand.failure(of: error, for: "house", user: nil).hints == ["tresor approve"])
        }
        // Whose account or handle was closed is listed as before.
        let house = UserID(.zero)
        let closed = ApproveCommand.failure(of: .noAccess, for: "house", user: house)
        #expect(closed.hints == ["tresor approve", "tresor approve \(house) --refuse"])
        // A service may take the approval of others alone.
        let share = ApproveCommand.failure(of: .noAccess, for: "house", user: nil)
        #expect(share.hints == ["tresor approve"] && share.message.contains("the approval of others alone"))
        let keys = KeyStanding()
        keys.note(areTaken: false)
        #expect(
            keys.refusal?.hints == ["tresor register --no-login", "tresor login NAME", "tresor recover --home DIR"])
        // A registration without a log-in would lose one that the service no longer knows.
        let place = "\"https://clinic.example\""
        keys.note(place, hasLogin: { true }, hasAccount: { true })
        #expect(keys.refusal?.hints.first == "tresor register")
        #expect(
            keys.refusal?.message.hasSuffix("somebody else has your identity: tell the people in your tresors") == true)
        // A home that never registered is told of no thief.
        keys.note(place, hasLogin: { false }, hasAccount: { false })
        #expect(keys.refusal?.hints == ["tresor register --no-login"])
        #expect(keys.refusal?.message.hasPrefix("this home has not registered at \(place)") == true)
        keys.note(place, hasLogin: { true }, hasAccount: { true })
        keys.note(0, isUnseen: true)
        #expect(keys.refusal?.hints == ["tresor register"])
        keys.note(place, hasLogin: { false }, hasAccount: { false })
        #expect(keys.refusal?.hints == ["tresor register", "tresor register --no-login"])
        keys.note(1, isUnseen: true)
        #expect(keys.refusal?.hints == ["tresor rotate --identity"])
        keys.note(areTaken: true)
        #expect(keys.refusal == nil)
        keys.note(areTaken: false)
        keys.note(1, isUnseen: false)
        keys.note(place, hasLogin: { false }, hasAccount: { true })
        #expect(keys.refusal?.hints.contains("tresor card --publish") == true)
        keys.note(areTaken: true)
        #expect(keys.refusal == nil)
        let lastOwner = CommandFailure(TresorError.usage(.lastOwner))
        #expect(lastOwner.message == "a tresor keeps at least one owner whose access has no end")
    }
}
