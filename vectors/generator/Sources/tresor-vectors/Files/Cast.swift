// SPDX-License-Identifier: Apache-2.0

/// The people of the histories.
enum Cast {
    static let anna = Person("anna")
    static let bert = Person("bert")
    static let cleo = Person("cleo")
    static let dora = Person("dora")
    static let emil = Person("emil")
    static let emilRenewed = emil.renewed("emil", time: 1_767_400_000)
    static let fred = Person("fred")
    static let gwen = Person("gwen")
    static let gwenRenewed = gwen.renewed("gwen", time: 1_767_400_000)
    static let house = Person("dr-house")

    /// Anna (owner), bert (writer), cleo (reader), dora (owner), fred (writer from epoch 3); emil was a member,
    /// renewed, and was removed.
    static func fullLog() -> Log {
        var log = Log.begun(Draw(file: "people", id: 1), founder: anna)
        log.grant([bert], role: 2)
        log.grant([cleo], role: 3)
        log.grant([dora], role: 1)
        log.grant([emil], role: 3)
        log.append(emil, Body.renew(emilRenewed.newest.card), generation: 0)
        log.remove([emil])
        log.grantFromNow([fred], role: 2)
        return log
    }
}
