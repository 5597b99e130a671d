// SPDX-License-Identifier: Apache-2.0

/// Somebody waits for an approver, SPEC §9.11: the key changes before the approval, and after it.
enum ApprovalScenario {
    private static let (anna, house, plan) = (Scenarios.anna, Scenarios.house, Scenarios.plan)

    static func approval() -> Scenario {
        let olga = ApprovalStage.olga
        var log = Log.begun(Draw(file: "scenario/approval", id: 1), founder: anna, approvers: [olga])
        let scenario = Scenario(
            "approval", "somebody waits while the key changes, and is approved", tresor: log.tresor,
            people: [("anna", anna), ("house", house), ("olga", olga)])
        scenario.append("anna makes a tresor with an approver", log.entries[0], wraps: [(anna, log.current, true)])
        let before = Scenarios.seal(log, anna, tag: "before")
        log.grant([house], role: 3)
        scenario.append("anna asks for dr-house", log.entries[1], others: asked(log, house, olga))
        scenario.open("who waits", by: "house", before, error: "waiting")
        scenario.open("the approver", by: "olga", before, error: "no_access")
        log.rotate()
        scenario.append(
            "anna changes the key", log.entries[2], wraps: [(anna, log.current, true)], others: asked(log, house, olga))
        scenario.open("who still waits", by: "house", before, error: "waiting")
        log.append(ApprovalStage.approve(log, 1, [house], by: olga, log.draw).entry)
        scenario.append("olga approves", log.entries[3], removing: [olga])
        scenario.open("of the epoch before: by the back-link", by: "house", before, content: plan)
        let after = Scenarios.seal(log, anna, tag: "after")
        scenario.open("of the epoch of the approval", by: "house", after, content: plan)
        scenario.open("the approver, as before", by: "olga", after, error: "no_access")
        log.remove([house])
        scenario.append(
            "anna removes dr-house, and asks nobody", log.entries[4], wraps: [(anna, log.current, true)],
            removing: [house])
        scenario.open("what he could read", by: "house", after, error: "no_access")
        return scenario
    }

    /// The wraps of the current epoch for a person who waits and for their approver.
    private static func asked(_ log: Log, _ person: Person, _ approver: Person) -> [(Person, EpochSecret, Bytes)] {
        let (epoch, draw) = (log.current, log.draw)
        let waiting = Approval.waitingWrap(
            epoch, tresor: log.tresor, for: person, salt: draw("waiting salt \(epoch.number)", 24),
            eseed: draw("waiting eseed \(epoch.number)", 64))
        let approving = Approval.approverWrap(
            epoch, tresor: log.tresor, for: approver, eseed: draw("approver eseed \(epoch.number)", 64))
        return [(person, epoch, waiting.bytes), (approver, epoch, approving.bytes)]
    }
}
