// SPDX-License-Identifier: Apache-2.0

/// The checks that defeat the attacks of SPEC §14.2, by name. A patch of the same name puts each one where it is made:
/// `guard Mutation.epochCommitment.passes(…) else { throw .altered }`. The rules of a log have names of their own (SPEC
/// §9.3). The type exists only in the copy of the sources that `scripts/attacks` builds.
package enum Mutation: String, CaseIterable, Sendable {
    // Sealing and encoding.

    /// The tag of a chunk.
    case chunkTag
    /// The chunk's number and last-mark in its nonce.
    case chunkPlace
    /// The commitment of a sealed message to its key, label, context and salt.
    case keyCommitment
    /// The label in a message's key.
    case sealLabel
    /// The context in a message's key.
    case sealContext
    /// A signature.
    case signature
    /// The label in what is signed.
    case signatureLabel
    /// The two checks of a KEM key when it is read.
    case kemKey
    /// The start-up check of the library.
    case selfTest
    /// The end of an object.
    case trailingBytes
    /// An object's version.
    case version
    /// The unused bits of an armoured block.
    case unusedBits
    /// The code points of a name.
    case nameCharacters
    /// That names are compared as bytes.
    case nameBytes
    /// That a reader of names asks no version of Unicode.
    case fixedCodePoints
    /// That random bytes are drawn anew.
    case freshRandomness
    /// The tag of a wrap.
    case wrapTag
    /// That secrets are compared in constant time.
    case constantTime
    /// That the memory of a secret is wiped and given back.
    case releasedSecrets

    // Identity.

    /// The floor and ceiling of Argon2id.
    case cost
    /// That a password's slot key takes an Argon2id.
    case passwordHash
    /// The code points of a password.
    case passwordCharacters
    /// The checksum of a recovery kit.
    case kitChecksum
    /// That a card has the keys of the seed.
    case ownCard
    /// The tag over an identity file.
    case identityTag
    /// That a password's slot takes the place of the one before, and that there is no second.
    case replacedSlot
    /// The server share in the key of a device.
    case serverShare
    /// The form of the copy that a kit opens.
    case kitCopyForm
    /// Until when a device opens.
    case deviceExpiry
    /// The dates of one's own entries beside the clock.
    case ownTimes
    /// The store's chain of the person, before new keys are made.
    case shownChain

    // People.

    /// Whether a person's number was compared.
    case comparedNumber
    /// The person that a handle is pinned to.
    case pinnedHandle
    /// The cards that are pinned.
    case pinnedCard
    /// A card's place behind the one before.
    case cardLink
    /// Whether a new log's founder is known.
    case knownFounder
    /// That a tresor under one's own name was made with the newest card, or is marked.
    case ownNewestCard
    /// That the newest keys made an own tresor.
    case newestOwn
    /// That one's own comparison stays, whatever another device says.
    case ownComparison
    /// That a compared card is newer than the log's.
    case supersededCard
    /// The generation that was compared, beside the one that signed.
    case comparedGeneration
    /// That a pin may be longer than the log's chain.
    case longerPin
    /// That a replaced pin counts as none.
    case replacedPin
    /// That a stranger's tresor answers to no bare name.
    case liesApart
    /// That a handle stands for the pinned person.
    case pinnedFirst
    /// That a number differs from the one that was compared.
    case changedNumber
    /// That a card alone changes nothing that was compared.
    case cardAlone

    // Log.

    /// The pinned head.
    case pinnedHead
    /// The head that another device verified.
    case toldHead
    /// The pinned head of a local log copy.
    case cachedHead
    /// How many entries a store may answer.
    case pageCount
    /// The next verified read after a write.
    case confirmation
    /// That an act means what it meant when it was shown.
    case meaning
    /// The people that the log knows.
    case knownPerson
    /// The check of the author before the body.
    case authorFirst
    /// That a body from 128 on is no newer version.
    case additiveBody
    /// How far a clock may be from the log's when dates are ended.
    case believedClock
    /// Whether the entry in the log is this run's own.
    case ownEntry
    /// How many entries a store has lost.
    case wholeLog
    /// That a file names a later entry than the store shows.
    case storeBehind

    // Records.

    /// Hash and size of a pack, an attachment or a volume, as its entry has them.
    case blobHash
    /// That the author of a pack or an attachment is that of its entry.
    case packAuthor
    /// That a kept item is one of its commit's pack.
    case keptItems
    /// That packs are deleted for volumes that were compared with them.
    case provedVolumes
    /// That the author of the volumes that are sealed again used a key that was compared.
    case vouchersKey
    /// That an owner's own checkpoint is one of their newest key.
    case newestKey
    /// That nobody goes on with another owner's volumes while the store has packs that they replaced.
    case packsLeft
    /// That a home keeps volumes for a member alone.
    case memberVolumes
    /// That nothing is shown as the newest while packs are missing.
    case wholeRecords
    /// That what was sent is sent again as it is.
    case frozenCommit

    // Epochs.

    /// The log's commitment to the keys of an epoch.
    case epochCommitment
    /// The tresor, epoch, user and generation that a wrap names.
    case wrapPlace
    /// The binding of a wrap.
    case wrapInfo
    /// That a wrap holds the keys the log grants, and no more, when it is read.
    case wrapHistory
    /// That who reads from now on is wrapped the content's key alone.
    case contentKeyAlone
    /// That only those who stay get the next key.
    case stayingMembers
    /// That the wraps of who goes are deleted.
    case departedWraps
    /// That a store changes an entry and its wraps at once.
    case oneTransaction
    /// The wraps that a member must have.
    case neededWraps
    /// That wraps of older epochs are tried where the newest epoch does not lead on.
    case olderWraps
    /// That an owner's next epoch needs no key of the present one.
    case reachableKeys
    /// That an owner who is cut off changes the key before anything is sealed.
    case cutOff
    /// That the home keeps its own wrap before an entry is sent.
    case keptWrap
    /// That the home's wraps are tried beside the store's.
    case homeWraps

    // Files.

    /// That the head a file names lies on the log.
    case fileHead
    /// The author's generation at that head.
    case fileGeneration
    /// The author's role at that head.
    case fileRole
    /// That the key need not be changed first at that head.
    case fileRekeyPending
    /// The author's end as the head has it.
    case fileDate
    /// The epoch at that head.
    case fileEpoch
    /// The length of the padding.
    case paddedLength
    /// The bytes of the padding.
    case zeroPadding
    /// The parts of a verified file that are read again.
    case verifiedPart
    /// The expectations of a caller.
    case expectation
    /// That the author may still write, where the caller asks for it.
    case currentAuthor
    /// The message about a file sealed at an older state.
    case olderState
    /// That the author has been a writer since the head without a break.
    case unbrokenTime
    /// The members who could open a resealed file and cannot open the original.
    case newcomers

    // Home, store and command.

    /// The other users who may read or change a file of the home.
    case ownerOnly
    /// How much of an input is read.
    case inputLimit
    /// That no password stands in the environment.
    case passwordVariable
    /// The layout of a store file.
    case storeSchema
    /// The greatest row of a store file.
    case rowLength
    /// The emptying of the write-ahead log after a deletion.
    case erasure
    /// That a handle belongs to nobody else in a store.
    case freeHandle
    /// The objects that may exist at the path of a new file.
    case replaceable
    /// That a file has its name only when it is whole.
    case nameLast
    /// The result of a write.
    case writeResult
    /// That every input counts in how a command ends.
    case everyInput
    /// The lock of a home.
    case homeLock
    /// The name of an output.
    case outputName
    /// That the output is none of the inputs.
    case otherOutput
    /// That the shares of a device's key lie on different disks.
    case otherDisk
    /// The bytes that may be written to a terminal.
    case terminalText
    /// That a terminal shows the author before the content.
    case authorLine
    /// The inputs that are read as a sealed file, and not as a card.
    case cardJudge
    /// Whether the system locks memory.
    case lockedMemory
    /// That a block goes back to the allocator it came from. It is made in C, in `Cerasure`.
    case otherAllocator
    /// That all that an identity kept goes with it.
    case emptyHome
    /// That a number typed is the card's.
    case typedNumber
    /// That only absolute places are taken from the environment.
    case absolutePlace
    /// That an export is judged like a store before anything of it is sent.
    case exportJudged
    /// That a store is noted by the name that the person gave, and that this one is not silent.
    case notedStore
    /// That each store that has shown a tresor is noted, and not the first alone.
    case everyStore

    // The service.

    /// The signature of a request.
    case requestSignature
    /// The service that a session is for.
    case sessionServer
    /// The address that a session is for.
    case sessionAudience
    /// The service that a home has met at an address.
    case knownService
    /// That a client takes only a near clock of a service.
    case nearClock
    /// The era of a session.
    case ownEra
    /// The signature of a session.
    case sessionSignature
    /// That a person registers their own user id.
    case registeredUser
    /// That a registration goes on with a chain that extends its own.
    case resumedChain
    /// That a session of a removed device has ended.
    case removedDevice
    /// That a device fetches its own server share.
    case ownShare
    /// The site of a page that speaks.
    case siteOfPage
    /// The host that a request names.
    case hostName
    /// That a request has one length.
    case oneLength
    /// That a person outside of a tresor gets one refusal for everything.
    case oneRefusal
    /// That the wraps of a tresor are for its members.
    case memberSeat
    /// That an entry comes from its author or a member.
    case speakerSeat
    /// The body that an id of a request serves.
    case requestBody
    /// That a member who restores an entry of somebody else brings no wraps.
    case restoredWraps
    /// That a large body is read for a head that proves itself, and for no other.
    case provedHead
    /// That bodies of strangers share a small part of the room.
    case strangersRoom
    /// That the oldest idle stranger makes room for the newest one.
    case displacedStranger
    /// That the place of an account is no stranger's.
    case provedPlace
    /// That a head is known by its session, and not by the person whom it names.
    case ownSession
    /// That the head of a device proves nothing of its person.
    case personsHead
    /// That a session is known for a minute.
    case recentSession
    /// That a person who waits for their account stays a stranger.
    case activeAccount
    /// That a large head from a barred address is signed by a key that has signed before.
    case signedAsBefore
    /// That large bodies leave room to small ones.
    case keptRoom
    /// That the bodies of an account take its own share of the room, wherever it asks from.
    case accountRoom
    /// That the accounts behind one address leave half of the room to others.
    case lineRoom
    /// The bytes of a body that must come in a span of time.
    case bodyPace
    /// That the networks of a line of IPv6 share limits.
    case sourceNetworks
    /// That no network takes more than a quarter.
    case networkQuarter
    /// That a body which is worked on keeps its room when its client has gone.
    case keptBody
    /// That an account is heard behind an address that is barred.
    case heardIfBarred
    /// That header values are ASCII.
    case asciiHeaders
    /// How often a source asks for what anyone may have.
    case sourceBucket
    /// That of each person a few sessions are kept.
    case heldShare
    /// That one work of an account runs at a time.
    case ownTurn
    /// That an account pays for work by its weight.
    case paidWork
    /// That the statements of a change count as work.
    case paidStatements
    /// That the state of one log takes at most half of the memory.
    case boundedState
    /// That a state that does not fit evicts none.
    case fittingState
    /// That all cards of a chain are counted.
    case heldCards
    /// That a card chain is compared before it is verified.
    case comparedFirst
    /// That a list reads no log of a stranger's tresor.
    case unreadStranger
    /// That a person's news are looked up once a second.
    case pausedLook
    /// That an author who is no owner leaves the founder half of what is left.
    case authorShare
    /// That what others wrote refuses no act of an owner.
    case ownerAct
    /// That a part of a blob has a number that a blob can have.
    case partNumber
    /// That a part of a blob counts as a row, however small it is.
    case leastPart
    /// That all parts of a blob but the last are whole.
    case wholeParts
    /// That a part fits the size of the blob that an entry names.
    case fittingPart
    /// That one transaction deletes a portion of what is to go.
    case erasedPortion
    /// That one request reads the wraps of few people, if it asks for all epochs.
    case peopleOfPage
    /// That a page of wraps is cut, and then is that of one person.
    case lonePage
    /// That an invitation comes before somebody who only asked under the handle.
    case invitedFirst
    /// That a wrap that its receiver may open stays.
    case standingWrap
    /// That an import makes accounts of the people in the logs alone.
    case importedMembers
    /// That a copy of a request gets the answer of the first one.
    case repeatedRequest
    /// That the card that was shown is the one that is admitted.
    case shownCard
    /// That a revocation is written down outside of the database.
    case notedRevocation
    /// That the file of revocations is where the next start looks for it.
    case placedRevocation
    /// That nobody but who has the card that an account awaits speaks for it.
    case awaitedCard
    /// That the operator decides about the next card of an account from a backup.
    case operatorsCard
    /// That an import at a service puts nobody else's card.
    case importedCard
    /// That an import at a service makes the wraps that go with an entry.
    case importedWraps
    /// That an import looks whether a service takes all entries, before it sends one.
    case importedEntries

    /// Whether the check holds: `condition`, or `true` where the task at work disables the check.
    package func passes(_ condition: Bool) -> Bool { isApplied || condition }
}
