// SPDX-License-Identifier: Apache-2.0

/// The service.
extension Mutation {
    /// The signature of a request.
    package static let requestSignature = Mutation(rawValue: "requestSignature")
    /// The service that a session is for.
    package static let sessionServer = Mutation(rawValue: "sessionServer")
    /// The address that a session is for.
    package static let sessionAudience = Mutation(rawValue: "sessionAudience")
    /// The service that a home has met at an address.
    package static let knownService = Mutation(rawValue: "knownService")
    /// That a client takes only a near clock of a service.
    package static let nearClock = Mutation(rawValue: "nearClock")
    /// The era of a session.
    package static let ownEra = Mutation(rawValue: "ownEra")
    /// The signature of a session.
    package static let sessionSignature = Mutation(rawValue: "sessionSignature")
    /// That a person registers their own user id.
    package static let registeredUser = Mutation(rawValue: "registeredUser")
    /// That a registration goes on with a chain that extends its own.
    package static let resumedChain = Mutation(rawValue: "resumedChain")
    /// That a session of a removed device has ended.
    package static let removedDevice = Mutation(rawValue: "removedDevice")
    /// That a device fetches its own server share.
    package static let ownShare = Mutation(rawValue: "ownShare")
    /// The site of a page that speaks.
    package static let siteOfPage = Mutation(rawValue: "siteOfPage")
    /// The host that a request names.
    package static let hostName = Mutation(rawValue: "hostName")
    /// That a request has one length.
    package static let oneLength = Mutation(rawValue: "oneLength")
    /// That a person outside of a tresor gets one refusal for everything.
    package static let oneRefusal = Mutation(rawValue: "oneRefusal")
    /// That the wraps of a tresor are for its members.
    package static let memberSeat = Mutation(rawValue: "memberSeat")
    /// That an entry comes from its author or a member.
    package static let speakerSeat = Mutation(rawValue: "speakerSeat")
    /// The body that an id of a request serves.
    package static let requestBody = Mutation(rawValue: "requestBody")
    /// That a member who restores an entry of somebody else brings no wraps.
    package static let restoredWraps = Mutation(rawValue: "restoredWraps")
    /// That a large body is read for a head that proves itself, and for no other.
    package static let provedHead = Mutation(rawValue: "provedHead")
    /// That bodies of strangers share a small part of the room.
    package static let strangersRoom = Mutation(rawValue: "strangersRoom")
    /// That the oldest idle stranger makes room for the newest one.
    package static let displacedStranger = Mutation(rawValue: "displacedStranger")
    /// That the place of an account is no stranger's.
    package static let provedPlace = Mutation(rawValue: "provedPlace")
    /// That a head is known by its session, and not by the person whom it names.
    package static let ownSession = Mutation(rawValue: "ownSession")
    /// That the head of a device proves nothing of its person.
    package static let personsHead = Mutation(rawValue: "personsHead")
    /// That a session is known for a minute.
    package static let recentSession = Mutation(rawValue: "recentSession")
    /// That a person who waits for their account stays a stranger.
    package static let activeAccount = Mutation(rawValue: "activeAccount")
    /// That a large head from a barred address is signed by a key that has signed before.
    package static let signedAsBefore = Mutation(rawValue: "signedAsBefore")
    /// That large bodies leave room to small ones.
    package static let keptRoom = Mutation(rawValue: "keptRoom")
    /// That the bodies of an account take its own share of the room, wherever it asks from.
    package static let accountRoom = Mutation(rawValue: "accountRoom")
    /// That the accounts behind one address leave half of the room to others.
    package static let lineRoom = Mutation(rawValue: "lineRoom")
    /// The bytes of a body that must come in a span of time.
    package static let bodyPace = Mutation(rawValue: "bodyPace")
    /// That the networks of a line of IPv6 share limits.
    package static let sourceNetworks = Mutation(rawValue: "sourceNetworks")
    /// That no network takes more than a quarter.
    package static let networkQuarter = Mutation(rawValue: "networkQuarter")
    /// That a body which is worked on keeps its room when its client has gone.
    package static let keptBody = Mutation(rawValue: "keptBody")
    /// That an account is heard behind an address that is barred.
    package static let heardIfBarred = Mutation(rawValue: "heardIfBarred")
    /// That header values are ASCII.
    package static let asciiHeaders = Mutation(rawValue: "asciiHeaders")
    /// How often a source asks for what anyone may have.
    package static let sourceBucket = Mutation(rawValue: "sourceBucket")
    /// That of each person a few sessions are kept.
    package static let heldShare = Mutation(rawValue: "heldShare")
    /// That one work of an account runs at a time.
    package static let ownTurn = Mutation(rawValue: "ownTurn")
    /// That an account pays for work by its weight.
    package static let paidWork = Mutation(rawValue: "paidWork")
    /// That the statements of a change count as work.
    package static let paidStatements = Mutation(rawValue: "paidStatements")
    /// That the state of one log takes at most half of the memory.
    package static let boundedState = Mutation(rawValue: "boundedState")
    /// That a state that does not fit evicts none.
    package static let fittingState = Mutation(rawValue: "fittingState")
    /// That all cards of a chain are counted.
    package static let heldCards = Mutation(rawValue: "heldCards")
    /// That a card chain is compared before it is verified.
    package static let comparedFirst = Mutation(rawValue: "comparedFirst")
    /// That a list reads no log of a stranger's tresor.
    package static let unreadStranger = Mutation(rawValue: "unreadStranger")
    /// That a person's news are looked up once a second.
    package static let pausedLook = Mutation(rawValue: "pausedLook")
    /// That an author who is no owner leaves the founder half of what is left.
    package static let authorShare = Mutation(rawValue: "authorShare")
    /// That what others wrote refuses no act of an owner.
    package static let ownerAct = Mutation(rawValue: "ownerAct")
    /// That a part of a blob has a number that a blob can have.
    package static let partNumber = Mutation(rawValue: "partNumber")
    /// That a part of a blob counts as a row, however small it is.
    package static let leastPart = Mutation(rawValue: "leastPart")
    /// That all parts of a blob but the last are whole.
    package static let wholeParts = Mutation(rawValue: "wholeParts")
    /// That a part fits the size of the blob that an entry names.
    package static let fittingPart = Mutation(rawValue: "fittingPart")
    /// That a service takes the approvals of those whom it demands, and no others.
    package static let askedApprover = Mutation(rawValue: "askedApprover")
    /// That one transaction deletes a portion of what is to go.
    package static let erasedPortion = Mutation(rawValue: "erasedPortion")
    /// That one request reads the wraps of few people, if it asks for all epochs.
    package static let peopleOfPage = Mutation(rawValue: "peopleOfPage")
    /// That a page of wraps is cut, and then is that of one person.
    package static let lonePage = Mutation(rawValue: "lonePage")
    /// That an invitation comes before somebody who only asked under the handle.
    package static let invitedFirst = Mutation(rawValue: "invitedFirst")
    /// That a wrap that its receiver may open stays.
    package static let standingWrap = Mutation(rawValue: "standingWrap")
    /// That an import makes accounts of the people in the logs alone.
    package static let importedMembers = Mutation(rawValue: "importedMembers")
    /// That a copy of a request gets the answer of the first one.
    package static let repeatedRequest = Mutation(rawValue: "repeatedRequest")
    /// That the card that was shown is the one that is admitted.
    package static let shownCard = Mutation(rawValue: "shownCard")
    /// That a revocation is written down outside of the database.
    package static let notedRevocation = Mutation(rawValue: "notedRevocation")
    /// That the file of revocations is where the next start looks for it.
    package static let placedRevocation = Mutation(rawValue: "placedRevocation")
    /// That nobody but who has the card that an account awaits speaks for it.
    package static let awaitedCard = Mutation(rawValue: "awaitedCard")
    /// That the operator decides about the next card of an account from a backup.
    package static let operatorsCard = Mutation(rawValue: "operatorsCard")
    /// That an account which was closed stays closed, whatever a backup has of it.
    package static let closedAccount = Mutation(rawValue: "closedAccount")
    /// That an import at a service puts nobody else's card.
    package static let importedCard = Mutation(rawValue: "importedCard")
    /// That an import at a service makes the wraps that go with an entry.
    package static let importedWraps = Mutation(rawValue: "importedWraps")
    /// That an import looks whether a service takes all entries, before it sends one.
    package static let importedEntries = Mutation(rawValue: "importedEntries")
    /// That a request which was answered while the disk was full is spent.
    package static let spentRequest = Mutation(rawValue: "spentRequest")
    /// That a request which is answered while the disk is full was not spent on the disk before.
    package static let spentOnDisk = Mutation(rawValue: "spentOnDisk")
    /// That the accounts behind one address leave places to others.
    package static let linePlaces = Mutation(rawValue: "linePlaces")
    /// That a recent session is open where its entry is written.
    package static let openSession = Mutation(rawValue: "openSession")
    /// That a session which has ended takes no more of its person's requests than are left.
    package static let endedDebt = Mutation(rawValue: "endedDebt")
    /// That a mailbox is open no longer than its code is good.
    package static let mailboxTime = Mutation(rawValue: "mailboxTime")
    /// That a mailbox whose time is over is not there.
    package static let endedMailbox = Mutation(rawValue: "endedMailbox")
    /// That a person has one mailbox.
    package static let oneMailbox = Mutation(rawValue: "oneMailbox")
}
