// SPDX-License-Identifier: Apache-2.0

/// Epochs whose author withheld the keys from others, SPEC §9.6: earlier keys still serve, and an owner can continue.
extension Scenarios {
    /// A writer marks the tresor by a renewal and begins an epoch whose keys no one else gets.
    static func withheldEpoch() -> Scenario {
        var (scenario, log) = started(
            "withheld-epoch", "a writer begins an epoch that reaches only herself",
            [("bert", bert, 2), ("house", house, 3)])
        let before = seal(log, anna, tag: "before")
        let renewed = bert.renewed("bert", time: log.time)
        scenario.renewIdentity("bert has new keys in her home", "bert", renewed)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        scenario.append("her new card is in the log", log.entries[3])
        let hidden = log.nextEpoch(tag: " hidden")
        log.append(renewed, Body.epoch(hidden.statement), beginning: hidden)
        scenario.append("an epoch, with a wrap for herself alone", log.entries[4], wraps: [(renewed, hidden, true)])
        let file = seal(log, renewed, tag: "hidden")
        scenario.open("what was sealed before: the founder", by: "anna", before, content: plan)
        scenario.open("what was sealed before: the reader", by: "house", before, content: plan)
        scenario.open("what she seals under it", by: "anna", file, error: "no_access")
        let next = log.epoch(3, links: [log.epochs[0].link])
        log.append(anna, Body.remove([bert.user], epoch: next.statement), beginning: next)
        scenario.append(
            "anna removes her; the link goes past what is hidden", log.entries[5],
            wraps: [(anna, next, true), (house, next, true)], removing: [bert])
        let after = seal(log, anna, tag: "after")
        scenario.open("what was sealed before, by the link of epoch 3", by: "house", before, content: plan)
        scenario.open("what is sealed now", by: "house", after, content: plan)
        scenario.open("what was sealed under the hidden epoch", by: "house", file, error: "no_access")
        scenario.open("who was removed", by: "bert", after, error: "no_access")
        return scenario
    }

    /// The epoch of another owner links to nothing: own wraps of earlier epochs serve.
    static func emptyLinks() -> Scenario {
        let dora = Cast.dora
        var (scenario, log) = started(
            "empty-links", "an owner's epoch whose back-link seals nothing", [("dora", dora, 1), ("house", house, 3)])
        let first = seal(log, anna, tag: "first")
        log.rotate()
        scenario.append(
            "anna changes the key", log.entries[3],
            wraps: [(anna, log.current, true), (dora, log.current, true), (house, log.current, true)])
        let second = seal(log, anna, tag: "second")
        let empty = log.epoch(3, links: [])
        log.append(dora, Body.epoch(empty.statement), beginning: empty)
        scenario.append(
            "dora's epoch, with wraps for all and no link", log.entries[4],
            wraps: [(anna, empty, true), (dora, empty, true), (house, empty, true)])
        scenario.open("epoch 2, by an own wrap", by: "house", second, content: plan)
        scenario.open("epoch 1, by the link of epoch 2", by: "house", first, content: plan)
        scenario.deleteWrap("the store loses dr-house's wrap of epoch 2", user: house, epoch: 2)
        scenario.open("epoch 2 has nothing left that leads to it", by: "house", second, error: "no_access")
        scenario.open("epoch 1, by an own wrap", by: "house", first, content: plan)
        let next = log.epoch(4, links: [log.current.link, log.epochs[1].link])
        log.append(anna, Body.epoch(next.statement), beginning: next)
        scenario.append(
            "anna's epoch links to what was hidden", log.entries[5],
            wraps: [(anna, next, true), (dora, next, true), (house, next, true)])
        scenario.open("epoch 2, by the second link", by: "house", second, content: plan)
        scenario.open("epoch 1, by links alone", by: "house", first, content: plan)
        return scenario
    }
}
