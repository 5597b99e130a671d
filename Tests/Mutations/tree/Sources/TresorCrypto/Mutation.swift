// SPDX-License-Identifier: Apache-2.0

/// The checks that defeat the attacks of SPEC §14.2, by name. A patch of the same name puts each one where it is made:
/// `guard Mutation.epochCommitment.passes(…) else { throw .altered }`. The rules of a log have names of their own (SPEC
/// §9.3). The type exists only in the copy of the sources that `scripts/attacks` builds.
package struct Mutation: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Whether the check holds: `condition`, or `true` where the task at work disables the check.
    package func passes(_ condition: Bool) -> Bool { isApplied || condition }
}

/// Sealing and encoding.
extension Mutation {
    /// The tag of a chunk.
    package static let chunkTag = Mutation(rawValue: "chunkTag")
    /// The chunk's number and last-mark in its nonce.
    package static let chunkPlace = Mutation(rawValue: "chunkPlace")
    /// The commitment of a sealed message to its key, label, context and salt.
    package static let keyCommitment = Mutation(rawValue: "keyCommitment")
    /// The label in a message's key.
    package static let sealLabel = Mutation(rawValue: "sealLabel")
    /// The context in a message's key.
    package static let sealContext = Mutation(rawValue: "sealContext")
    /// A signature.
    package static let signature = Mutation(rawValue: "signature")
    /// The label in what is signed.
    package static let signatureLabel = Mutation(rawValue: "signatureLabel")
    /// The two checks of a KEM key when it is read.
    package static let kemKey = Mutation(rawValue: "kemKey")
    /// The start-up check of the library.
    package static let selfTest = Mutation(rawValue: "selfTest")
    /// The end of an object.
    package static let trailingBytes = Mutation(rawValue: "trailingBytes")
    /// An object's version.
    package static let version = Mutation(rawValue: "version")
    /// The unused bits of an armoured block.
    package static let unusedBits = Mutation(rawValue: "unusedBits")
    /// The code points of a name.
    package static let nameCharacters = Mutation(rawValue: "nameCharacters")
    /// That names are compared as bytes.
    package static let nameBytes = Mutation(rawValue: "nameBytes")
    /// That a reader of names asks no version of Unicode.
    package static let fixedCodePoints = Mutation(rawValue: "fixedCodePoints")
    /// That random bytes are drawn anew.
    package static let freshRandomness = Mutation(rawValue: "freshRandomness")
    /// The tag of a wrap.
    package static let wrapTag = Mutation(rawValue: "wrapTag")
    /// That secrets are compared in constant time.
    package static let constantTime = Mutation(rawValue: "constantTime")
    /// That the memory of a secret is wiped and given back.
    package static let releasedSecrets = Mutation(rawValue: "releasedSecrets")
}

/// Identity.
extension Mutation {
    /// The floor and ceiling of Argon2id.
    package static let cost = Mutation(rawValue: "cost")
    /// That a password's slot key takes an Argon2id.
    package static let passwordHash = Mutation(rawValue: "passwordHash")
    /// The code points of a password.
    package static let passwordCharacters = Mutation(rawValue: "passwordCharacters")
    /// The checksum of a recovery kit.
    package static let kitChecksum = Mutation(rawValue: "kitChecksum")
    /// That a card has the keys of the seed.
    package static let ownCard = Mutation(rawValue: "ownCard")
    /// The tag over an identity file.
    package static let identityTag = Mutation(rawValue: "identityTag")
    /// That a password's slot takes the place of the one before, and that there is no second.
    package static let replacedSlot = Mutation(rawValue: "replacedSlot")
    /// The server share in the key of a device.
    package static let serverShare = Mutation(rawValue: "serverShare")
    /// The form of the copy that a kit opens.
    package static let kitCopyForm = Mutation(rawValue: "kitCopyForm")
    /// Until when a device opens.
    package static let deviceExpiry = Mutation(rawValue: "deviceExpiry")
    /// The dates of one's own entries beside the clock.
    package static let ownTimes = Mutation(rawValue: "ownTimes")
    /// The store's chain of the person, before new keys are made.
    package static let shownChain = Mutation(rawValue: "shownChain")
}

/// People.
extension Mutation {
    /// Whether a person's number was compared.
    package static let comparedNumber = Mutation(rawValue: "comparedNumber")
    /// The person that a handle is pinned to.
    package static let pinnedHandle = Mutation(rawValue: "pinnedHandle")
    /// The cards that are pinned.
    package static let pinnedCard = Mutation(rawValue: "pinnedCard")
    /// A card's place behind the one before.
    package static let cardLink = Mutation(rawValue: "cardLink")
    /// Whether a new log's founder is known.
    package static let knownFounder = Mutation(rawValue: "knownFounder")
    /// That a tresor under one's own name was made with the newest card, or is marked.
    package static let ownNewestCard = Mutation(rawValue: "ownNewestCard")
    /// That a compared card is newer than the log's.
    package static let supersededCard = Mutation(rawValue: "supersededCard")
    /// The generation that was compared, beside the one that signed.
    package static let comparedGeneration = Mutation(rawValue: "comparedGeneration")
    /// That a pin may be longer than the log's chain.
    package static let longerPin = Mutation(rawValue: "longerPin")
    /// That a replaced pin counts as none.
    package static let replacedPin = Mutation(rawValue: "replacedPin")
    /// That a stranger's tresor answers to no bare name.
    package static let liesApart = Mutation(rawValue: "liesApart")
    /// That a handle stands for the pinned person.
    package static let pinnedFirst = Mutation(rawValue: "pinnedFirst")
    /// That a number differs from the one that was compared.
    package static let changedNumber = Mutation(rawValue: "changedNumber")
    /// That with --replace a handle means the pinned person with new keys as well as the one whom the store offers.
    package static let bothMeant = Mutation(rawValue: "bothMeant")
    /// That a copy of the identity in a file has no older keys than the store shows.
    package static let olderCopy = Mutation(rawValue: "olderCopy")
    /// That a person says yes to a clock behind the log's before a last day is written.
    package static let lastDay = Mutation(rawValue: "lastDay")
    /// That a card alone changes nothing that was compared.
    package static let cardAlone = Mutation(rawValue: "cardAlone")
}

/// Log.
extension Mutation {
    /// The pinned head.
    package static let pinnedHead = Mutation(rawValue: "pinnedHead")
    /// The pinned head of a local log copy.
    package static let cachedHead = Mutation(rawValue: "cachedHead")
    /// How many entries a store may answer.
    package static let pageCount = Mutation(rawValue: "pageCount")
    /// The next verified read after a write.
    package static let confirmation = Mutation(rawValue: "confirmation")
    /// That an act means what it meant when it was shown.
    package static let meaning = Mutation(rawValue: "meaning")
    /// The people that the log knows.
    package static let knownPerson = Mutation(rawValue: "knownPerson")
    /// The check of the author before the body.
    package static let authorFirst = Mutation(rawValue: "authorFirst")
    /// That a body from 128 on is no newer version.
    package static let additiveBody = Mutation(rawValue: "additiveBody")
    /// How far a clock may be from the log's when dates are ended.
    package static let believedClock = Mutation(rawValue: "believedClock")
    /// Whether the entry in the log is this run's own.
    package static let ownEntry = Mutation(rawValue: "ownEntry")
    /// How many entries a store has lost.
    package static let wholeLog = Mutation(rawValue: "wholeLog")
    /// That a file names a later entry than the store shows.
    package static let storeBehind = Mutation(rawValue: "storeBehind")
}

/// Records.
extension Mutation {
    /// Hash and size of a pack, an attachment or a volume, as its entry has them.
    package static let blobHash = Mutation(rawValue: "blobHash")
    /// That the author of a pack or an attachment is that of its entry.
    package static let packAuthor = Mutation(rawValue: "packAuthor")
    /// That a kept item is one of its commit's pack.
    package static let keptItems = Mutation(rawValue: "keptItems")
    /// That packs are deleted for volumes that were compared with them.
    package static let provedVolumes = Mutation(rawValue: "provedVolumes")
    /// That an item which nobody here can judge hides no other.
    package static let judgedItems = Mutation(rawValue: "judgedItems")
    /// That the author of the volumes that are sealed again used a key that was compared.
    package static let vouchersKey = Mutation(rawValue: "vouchersKey")
    /// That an owner's own checkpoint is one of their newest key.
    package static let newestKey = Mutation(rawValue: "newestKey")
    /// That nobody goes on with another owner's volumes while the store has packs that they replaced.
    package static let packsLeft = Mutation(rawValue: "packsLeft")
    /// That an owner seals nothing by an index while the home lacks a pack.
    package static let lostPacks = Mutation(rawValue: "lostPacks")
    /// That a home keeps volumes for a member alone.
    package static let memberVolumes = Mutation(rawValue: "memberVolumes")
    /// That nothing is shown as the newest while packs are missing.
    package static let wholeRecords = Mutation(rawValue: "wholeRecords")
    /// That an index counts under the newest key alone.
    package static let indexKey = Mutation(rawValue: "indexKey")
    /// That what was sent is sent again as it is.
    package static let frozenCommit = Mutation(rawValue: "frozenCommit")
}

/// Epochs.
extension Mutation {
    /// The log's commitment to the keys of an epoch.
    package static let epochCommitment = Mutation(rawValue: "epochCommitment")
    /// The tresor, epoch, user and generation that a wrap names.
    package static let wrapPlace = Mutation(rawValue: "wrapPlace")
    /// The binding of a wrap.
    package static let wrapInfo = Mutation(rawValue: "wrapInfo")
    /// That a wrap holds the keys the log grants, and no more, when it is read.
    package static let wrapHistory = Mutation(rawValue: "wrapHistory")
    /// That who reads from now on is wrapped the content's key alone.
    package static let contentKeyAlone = Mutation(rawValue: "contentKeyAlone")
    /// That only those who stay get the next key.
    package static let stayingMembers = Mutation(rawValue: "stayingMembers")
    /// That the wraps of who goes are deleted.
    package static let departedWraps = Mutation(rawValue: "departedWraps")
    /// That a store changes an entry and its wraps at once.
    package static let oneTransaction = Mutation(rawValue: "oneTransaction")
    /// The wraps that a member must have.
    package static let neededWraps = Mutation(rawValue: "neededWraps")
    /// That wraps of older epochs are tried where the newest epoch does not lead on.
    package static let olderWraps = Mutation(rawValue: "olderWraps")
    /// That an owner's next epoch needs no key of the present one.
    package static let reachableKeys = Mutation(rawValue: "reachableKeys")
    /// That an owner who is cut off changes the key before anything is sealed.
    package static let cutOff = Mutation(rawValue: "cutOff")
    /// That the home keeps its own wrap before an entry is sent.
    package static let keptWrap = Mutation(rawValue: "keptWrap")
    /// That the home's wraps are tried beside the store's.
    package static let homeWraps = Mutation(rawValue: "homeWraps")
}

/// Files.
extension Mutation {
    /// That the head a file names lies on the log.
    package static let fileHead = Mutation(rawValue: "fileHead")
    /// The author's generation at that head.
    package static let fileGeneration = Mutation(rawValue: "fileGeneration")
    /// The author's role at that head.
    package static let fileRole = Mutation(rawValue: "fileRole")
    /// That the key need not be changed first at that head.
    package static let fileRekeyPending = Mutation(rawValue: "fileRekeyPending")
    /// The author's end as the head has it.
    package static let fileDate = Mutation(rawValue: "fileDate")
    /// The epoch at that head.
    package static let fileEpoch = Mutation(rawValue: "fileEpoch")
    /// The length of the padding.
    package static let paddedLength = Mutation(rawValue: "paddedLength")
    /// The bytes of the padding.
    package static let zeroPadding = Mutation(rawValue: "zeroPadding")
    /// The parts of a verified file that are read again.
    package static let verifiedPart = Mutation(rawValue: "verifiedPart")
    /// The expectations of a caller.
    package static let expectation = Mutation(rawValue: "expectation")
    /// That the author may still write, where the caller asks for it.
    package static let currentAuthor = Mutation(rawValue: "currentAuthor")
    /// The message about a file sealed at an older state.
    package static let olderState = Mutation(rawValue: "olderState")
    /// That the author has been a writer since the head without a break.
    package static let unbrokenTime = Mutation(rawValue: "unbrokenTime")
    /// The members who could open a resealed file and cannot open the original.
    package static let newcomers = Mutation(rawValue: "newcomers")
}

/// Home, store and command.
extension Mutation {
    /// The other users who may read or change a file of the home.
    package static let ownerOnly = Mutation(rawValue: "ownerOnly")
    /// How much of an input is read.
    package static let inputLimit = Mutation(rawValue: "inputLimit")
    /// That no password stands in the environment.
    package static let passwordVariable = Mutation(rawValue: "passwordVariable")
    /// The layout of a store file.
    package static let storeSchema = Mutation(rawValue: "storeSchema")
    /// The greatest row of a store file.
    package static let rowLength = Mutation(rawValue: "rowLength")
    /// The emptying of the write-ahead log after a deletion.
    package static let erasure = Mutation(rawValue: "erasure")
    /// That a handle belongs to nobody else in a store.
    package static let freeHandle = Mutation(rawValue: "freeHandle")
    /// The objects that may exist at the path of a new file.
    package static let replaceable = Mutation(rawValue: "replaceable")
    /// That a file has its name only when it is whole.
    package static let nameLast = Mutation(rawValue: "nameLast")
    /// The result of a write.
    package static let writeResult = Mutation(rawValue: "writeResult")
    /// That every input counts in how a command ends.
    package static let everyInput = Mutation(rawValue: "everyInput")
    /// The lock of a home.
    package static let homeLock = Mutation(rawValue: "homeLock")
    /// The name of an output.
    package static let outputName = Mutation(rawValue: "outputName")
    /// That the output is none of the inputs.
    package static let otherOutput = Mutation(rawValue: "otherOutput")
    /// That the shares of a device's key lie on different disks.
    package static let otherDisk = Mutation(rawValue: "otherDisk")
    /// The bytes that may be written to a terminal.
    package static let terminalText = Mutation(rawValue: "terminalText")
    /// That a terminal shows the author before the content.
    package static let authorLine = Mutation(rawValue: "authorLine")
    /// The inputs that are read as a sealed file, and not as a card.
    package static let cardJudge = Mutation(rawValue: "cardJudge")
    /// Whether the system locks memory.
    package static let lockedMemory = Mutation(rawValue: "lockedMemory")
    /// That a block goes back to the allocator it came from. It is made in C, in `Cerasure`.
    package static let otherAllocator = Mutation(rawValue: "otherAllocator")
    /// That all that an identity kept goes with it.
    package static let emptyHome = Mutation(rawValue: "emptyHome")
    /// That a number typed is the card's.
    package static let typedNumber = Mutation(rawValue: "typedNumber")
    /// That only absolute places are taken from the environment.
    package static let absolutePlace = Mutation(rawValue: "absolutePlace")
    /// That an export is judged like a store before anything of it is sent.
    package static let exportJudged = Mutation(rawValue: "exportJudged")
    /// That a store is noted by the name that the person gave, and that this one is not silent.
    package static let notedStore = Mutation(rawValue: "notedStore")
    /// That each store that has shown a tresor is noted, and not the first alone.
    package static let everyStore = Mutation(rawValue: "everyStore")
    /// That a home reads by volumes of its person before those of another owner.
    package static let ownVolumes = Mutation(rawValue: "ownVolumes")
    /// That nobody forgets volumes on the word of packs that they did not look at.
    package static let lookedAtPacks = Mutation(rawValue: "lookedAtPacks")
    /// That a blob is read once, however many items name it.
    package static let readOnce = Mutation(rawValue: "readOnce")
    /// The tag of the offer of a new machine.
    package static let offerTag = Mutation(rawValue: "offerTag")
    /// The tag of the answer to it.
    package static let answerTag = Mutation(rawValue: "answerTag")
    /// That the first offer in a mailbox stands.
    package static let firstOffer = Mutation(rawValue: "firstOffer")
    /// That an offer is of the time of its code.
    package static let timelyOffer = Mutation(rawValue: "timelyOffer")
    /// That the newest keys made an own tresor.
    package static let newestOwn = Mutation(rawValue: "newestOwn")
    /// That the newest own card said so of a person whom another home compared.
    package static let statedCard = Mutation(rawValue: "statedCard")
    /// That one's own comparison stays, whatever another device says.
    package static let ownComparison = Mutation(rawValue: "ownComparison")
    /// That a giving-up outlasts an earlier comparison, also of newer keys.
    package static let laterGivingUp = Mutation(rawValue: "laterGivingUp")
    /// The head that another device verified.
    package static let toldHead = Mutation(rawValue: "toldHead")
    /// That a receipt is that of the answer.
    package static let deviceReceipt = Mutation(rawValue: "deviceReceipt")
    /// That another machine puts no copy that this one is to put.
    package static let awaitedCopy = Mutation(rawValue: "awaitedCopy")
}
