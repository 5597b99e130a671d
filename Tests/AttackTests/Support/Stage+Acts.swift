// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The acts of anna while a disk fails: every command that changes a home, the store or a file.
extension Stage {
    /// `WORK` stands for the stage, `DEVICE` for the device that is remembered. The first five are about who reads
    /// what.
    static let acts: [[String]] = [
        ["create", "other"], ["share", "-t", "plans", "third"], ["revoke", "-t", "plans", "house", "--yes"],
        ["rotate", "-t", "plans", "--yes"], ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"],
        ["decrypt", "plan.tresor", "-o", "read.json"], ["reseal", "plan.tresor"],
        ["passwd", "--new-password-file", "anna.password"], ["remember", "--name", "desk"], ["forget"],
        ["device", "revoke", "DEVICE", "--yes"], ["recover", "--new-kit", "--kit", "kit.txt"],
        ["recover", "--kit", "old-kit.txt", "--new-password-file", "anna.password", "--argon2id", "64,3"],
        ["rotate", "--identity", "--no-kit", "--yes"], ["card", "-o", "card.txt"],
        ["card", "--publish", "--store", "WORK/new.db"], ["verify", "fourth", "--card", "fourth.card"],
        ["check", "--repair", "-t", "plans", "--store", "WORK/old.db"],
        ["keygen", "zoe", "--no-kit", "--argon2id", "64,3", "--home", "WORK/homes/zoe"],
    ]

    /// A tresor of anna's whose file has an old key and whose store has an older copy, people to add and to verify, a
    /// kit and a device. Made once: each test has a copy.
    static func withActs() throws -> (stage: Stage, device: String) {
        let made = try made.get()
        return (Stage(scratch: try Scratch(copyOf: made.scratch)), made.device)
    }

    private static let made: Result<(scratch: Scratch, device: String), any Error> = Result {
        let stage = try Stage("anna", "house", "third", "fourth")
        try stage.share(of: "anna", with: "house")
        try stage.expect(as: "anna", ["verify", "third", "--number", stage.number(of: "third")])
        try stage.expect(as: "fourth", ["card", "-o", "fourth.card"])
        try stage.write(plan(100_000), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        try stage.write(Array("old".utf8), to: "read.json", mode: 0o600)
        try stage.write(stage["store.db"], to: "old.db")
        try stage.expect(as: "anna", ["rotate", "-t", "plans", "--yes"])
        try stage.expect(as: "house", ["members", "-t", "plans"])
        try stage.expect(as: "anna", ["recover", "--new-kit", "--kit", "old-kit.txt"])
        try stage.expect(as: "anna", ["remember", "--name", "ward", "--accept-same-disk"])
        try stage.expect(as: "anna", ["list"])
        let devices = try stage.expect(as: "anna", ["device", "list"])
        guard let device = devices.firstMatch(of: /([0-9a-z]{10})\* +ward/) else { throw Unmet("there is no device") }
        return (stage.scratch, String(device.1))
    }

    /// An act in the words of this stage.
    func words(_ act: [String], device: String) -> [String] {
        act.map { $0 == "DEVICE" ? device : $0.replacing("WORK", with: scratch.path) }
    }

    /// Whether an act that was not refused has left what it is for.
    func isDone(_ act: [String], device: String) throws -> Bool {
        let members = { try self.expect(as: "anna", ["members", "-t", "plans"]) }
        switch (act[0], act[1...].first) {
        case ("create", _): return try expect(as: "anna", ["list"]).contains("other")
        case ("share", _): return try members().contains("third")
        case ("revoke", _): return try !members().contains("house")
        case ("rotate", "-t"): return try expect(as: "anna", ["list"]).contains(#/plans +anna +owner +2 +[3-9] /#)
        case ("encrypt", _):
            let isNew = try expect(as: "anna", ["inspect", "plan.tresor", "--json"]).contains("\"key\":2")
            return try isNew && run(as: "anna", ["decrypt", "plan.tresor"]).output == Stage.plan(100_000)
        case ("decrypt", _): return self["read.json"] == Stage.plan(100_000)
        case ("card", "-o"): return try run(as: "anna", ["inspect", "card.txt"]).code == 0
        case ("reseal", _): return try expect(as: "anna", ["inspect", "plan.tresor", "--json"]).contains("\"key\":2")
        case ("forget", _): return self["homes/anna/state/device-share"].isEmpty
        case ("device", _): return try !expect(as: "anna", ["device", "list"]).contains(device)
        case ("card", "--publish"):
            return try expect(as: "house", ["card", "anna", "--store", scratch["new.db"]]) != ""
        case ("verify", _): return try expect(as: "anna", ["check"]).contains("person fourth")
        case ("check", _): return try run(as: "anna", ["log", "-t", "plans", "--store", scratch["old.db"]]).code == 0
        case ("keygen", _): return !self["homes/zoe/identity"].isEmpty
        default: return true
        }
    }
}
