// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCore
import TresorCrypto

@testable import TresorStore

@Suite struct DirectoryHomeTests {
    static let objects: [HomeObject] = [
        .identity, .names, .marks, .pins, .heads, .notedStores, .knownServices, .knownLogins, .wraps, .cleanupJournal,
        .deviceShare, .log(tresor(1)),
        .log(tresor(2)),
        .log(tresor(1), part: 1), .state(tresor(1)), .records(tresor(1), part: 0),
        .records(tresor(1), part: 2), .records(tresor(1), part: 2, piece: 1),
        .volume(tresor(1), checkpoint: 3, number: 0), .volume(tresor(1), checkpoint: 3, number: 1),
        .volume(tresor(1), checkpoint: 31, number: 0), .recordIndex(tresor(1)), .outbox(tresor(1)),
        .unsent(tresor(1), number: 1, piece: 0), .unsent(tresor(1), number: 1, piece: 1),
        .unsent(tresor(1), number: 11, piece: 0),
        .evidence(digest(3)),
    ]

    let scratch: Scratch
    let home: DirectoryHome

    init() throws {
        scratch = try Scratch()
        home = DirectoryHome(data: scratch["deep/data"], state: scratch["state"])
    }

    static func path(_ object: HomeObject) -> String {
        switch object.kind {
        case .identity: "deep/data/identity"
        case .names: "deep/data/names"
        case .marks: "deep/data/marks"
        case .pins: "deep/data/pins"
        case .heads: "deep/data/heads"
        case .notedStores: "deep/data/stores"
        case .knownServices: "deep/data/services"
        case .knownLogins: "deep/data/logins"
        case .wraps: "deep/data/wraps"
        case .deviceShare: "state/device-share"
        case .cleanupJournal: "deep/data/cleanup"
        case .log(let id, let part): "deep/data/logs/" + hexadecimal(id.digest) + ".\(part)"
        case .state(let id): "deep/data/logs/" + hexadecimal(id.digest) + ".state"
        case .records(let id, let part, let piece):
            "deep/data/records/" + hexadecimal(id.digest) + ".\(part).\(piece)"
        case .volume(let id, let checkpoint, let number):
            "deep/data/records/" + hexadecimal(id.digest) + ".v.\(checkpoint).\(number)"
        case .recordIndex(let id): "deep/data/records/" + hexadecimal(id.digest) + ".index"
        case .outbox(let id): "deep/data/records/" + hexadecimal(id.digest) + ".unsent"
        case .unsent(let id, let number, let piece):
            "deep/data/records/" + hexadecimal(id.digest) + ".u.\(number).\(piece).unsent"
        case .evidence(let hash): "deep/data/evidence/" + hexadecimal(hash)
        }
    }

    private static func hexadecimal(_ digest: Hash256) -> String {
        digest.bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// A home of somebody else needs no more than the name, and whether it may leave the device.
    @Test func namesAreUniqueRelativePaths() {
        let names = Self.objects.map(\.name)
        #expect(Set(names).count == Self.objects.count)
        let longest: [HomeObject] = [
            .log(tresor(0xff), part: .max), .records(tresor(0xff), part: .max / 64, piece: 64),
            .volume(tresor(0xff), checkpoint: .max, number: 9999),
            .unsent(tresor(0xff), number: 2046, piece: 1 << 20),
        ]
        for name in names + longest.map(\.name) {
            #expect(name.wholeMatch(of: /[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)?/) != nil, "\(name)")
            #expect(name.utf8.count <= 100, "\(name)")
            #expect(!names.contains { $0.hasPrefix(name + "/") }, "\(name)")
        }
        #expect(Self.objects.filter(\.staysOnDevice) == [.deviceShare])
        #expect(Self.objects.filter(\.isSecret) == Self.secrets)
    }

    /// The objects that nobody else may read.
    static let secrets: [HomeObject] = [
        .identity, .names, .marks, .deviceShare, .recordIndex(tresor(1)), .outbox(tresor(1)),
        .unsent(tresor(1), number: 1, piece: 0),
        .unsent(tresor(1), number: 1, piece: 1), .unsent(tresor(1), number: 11, piece: 0),
    ]

    @Test(arguments: objects) func objectIsReplacedReadAndDeleted(_ object: HomeObject) throws {
        #expect(try home.read(object) == nil)
        try home.delete(object)
        #expect(try scratch.names.isEmpty)
        let content = random(200_000)
        try home.replace(object, with: content)
        #expect(try home.read(object) == content)
        #expect(try bytes(at: scratch[Self.path(object)]) == content)
        try home.delete(object)
        try home.delete(object)
        #expect(try home.read(object) == nil)
    }

    @Test func objectsDoNotShareAPlace() throws {
        for (index, object) in Self.objects.enumerated() { try home.replace(object, with: [UInt8(index)]) }
        for (index, object) in Self.objects.enumerated() { #expect(try home.read(object) == [UInt8(index)]) }
        try home.replace(.identity, with: [])
        #expect(try home.read(.identity) == [])
    }

    @Test func evidenceIsNeverReplaced() throws {
        try home.replace(.evidence(digest(1)), with: [1])
        try home.replace(.evidence(digest(1)), with: [2])
        #expect(try home.read(.evidence(digest(1))) == [1])
    }

    @Test(arguments: [mode_t(0), 0o022, 0o077]) func A42_modesAreSetWhateverTheUmask(_ mask: mode_t) async {
        await #expect(processExitsWith: .success) { [mask = mask as mode_t] in
            umask(mask)
            let tests = try DirectoryHomeTests()
            for object in DirectoryHomeTests.objects {
                try tests.home.replace(object, with: [1])
                #expect(try mode(of: tests.scratch[DirectoryHomeTests.path(object)]) == 0o600)
            }
            for directory in ["deep", "deep/data", "deep/data/logs", "deep/data/evidence", "state"] {
                #expect(try mode(of: tests.scratch[directory]) == 0o700)
            }
        }
    }

    @Test(arguments: [HomeObject.identity, .names, .marks, .deviceShare], [0o644, 0o640, 0o604, 0o620, 0o610])
    func A42_secretsOpenToOthersAreRefused(_ object: HomeObject, _ mode: Int) throws {
        try home.replace(object, with: [1])
        try setMode(mode, of: scratch[Self.path(object)])
        #expect(throws: TresorError.failed(.permissions)) { try home.read(object) }
        try setMode(0o600, of: scratch[Self.path(object)])
        #expect(try home.read(object) == [1])
    }

    @Test(arguments: objects) func A42_whatOthersCanReadIsReported(_ object: HomeObject) throws {
        try home.replace(object, with: [1])
        #expect(try home.exposures() == [])
        try setMode(0o644, of: scratch[Self.path(object)])
        #expect(try home.exposures().map(\.flaw) == [Self.secrets.contains(object) ? .open : .readable])
    }

    @Test(arguments: objects) func A42_objectsOthersCanWriteAreRefused(_ object: HomeObject) throws {
        try home.replace(object, with: [1])
        try setMode(0o602, of: scratch[Self.path(object)])
        #expect(throws: TresorError.failed(.permissions)) { try home.read(object) }
    }

    @Test(arguments: [0o777, 0o770, 0o702]) func A42_directoriesOthersCanWriteAreRefused(_ mode: Int) throws {
        for object in Self.objects { try home.replace(object, with: [1]) }
        for (directory, object) in [
            ("deep/data", HomeObject.pins), ("deep/data", .log(tresor(1))), ("state", .deviceShare),
        ] {
            try setMode(mode, of: scratch[directory])
            #expect(throws: TresorError.failed(.permissions)) { try home.read(object) }
            #expect(throws: TresorError.failed(.permissions)) { try home.replace(object, with: [2]) }
            #expect(throws: TresorError.failed(.permissions)) { try home.delete(object) }
            try setMode(0o700, of: scratch[directory])
            #expect(try home.read(object) == [1])
        }
        try setMode(mode, of: scratch["deep/data"])
        #expect(throws: TresorError.failed(.permissions)) { try home.exclusively { () throws(TresorError) in } }
    }

    @Test(.enabled(if: geteuid() == 0, "needs to give a file away"))
    func A42_foreignSecretsAreRefused() throws {
        for object in [HomeObject.identity, .deviceShare] {
            try home.replace(object, with: [1])
            #expect(chown(scratch[Self.path(object)], 12345, 12345) == 0)
            #expect(throws: TresorError.failed(.permissions)) { try home.read(object) }
        }
        #expect(chown(scratch["deep/data"], 12345, 12345) == 0)
        #expect(throws: TresorError.failed(.permissions)) { try home.read(.pins) }
    }

    @Test(arguments: objects) func A103_linkAtTheTargetIsReplacedNotFollowed(_ object: HomeObject) throws {
        try home.replace(object, with: [1])
        let path = scratch[Self.path(object)]
        try write([7], to: scratch["victim"])
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: scratch["victim"])
        #expect(throws: TresorError.failed(.permissions)) { try home.read(object) }
        try home.replace(object, with: [2])
        #expect(try bytes(at: scratch["victim"]) == [7])
        if object != .evidence(digest(3)) { #expect(try home.read(object) == [2]) }
    }

    @Test func A103_whatIsNoFileIsNeitherReadNorReplaced() throws {
        try home.replace(.pins, with: [1])
        #expect(mkfifo(scratch["deep/data/identity"], 0o600) == 0)
        #expect(throws: TresorError.failed(.inputOutput)) { try home.read(.identity) }
        #expect(throws: TresorError.failed(.inputOutput)) { try home.replace(.identity, with: [1]) }
    }

    /// No time passes but that of the pauses.
    @Test func A107_lockHoldsBetweenTwoHomesAndEndsAtFiveSeconds() throws {
        #expect(DirectoryHome.patience == .seconds(5))
        let waited = Mutex(Duration.zero)
        let other = DirectoryHome(
            data: scratch["deep/data"], state: scratch["state"], patience: DirectoryHome.patience,
            clock: { Duration.seconds(100) + waited.withLock { $0 } },
            pause: { waited.withLock { $0 += .milliseconds(10) } })
        try home.exclusively { () throws(TresorError) -> Void in
            #expect(throws: TresorError.busy) { try other.exclusively { () throws(TresorError) in } }
        }
        #expect(waited.withLock { $0 } == .seconds(5))
        #expect(try other.exclusively { () throws(TresorError) in 7 } == 7)
        #expect(waited.withLock { $0 } == .seconds(5))
    }

    @Test func whoHasNoPatienceGivesUpAtOnce() throws {
        let pauses = Mutex(0)
        let other = DirectoryHome(
            data: scratch["deep/data"], state: scratch["state"], patience: DirectoryHome.patience,
            pause: { pauses.withLock { $0 += 1 } })
        func take() throws(TresorError) -> Int {
            try HomePatience.none { () throws(TresorError) in try other.exclusively { () throws(TresorError) in 7 } }
        }
        try home.exclusively { () throws(TresorError) -> Void in
            #expect(throws: TresorError.busy) { try take() }
        }
        #expect(try take() == 7)
        #expect(pauses.withLock { $0 } == 0)
    }

    @Test func A107_aLockThatEndsInTimeIsTaken() throws {
        let directory = scratch["deep/data"]
        try home.exclusively { () throws(TresorError) in }
        let held = Mutex(open("\(directory)/lock", O_RDWR))
        #expect(flock(held.withLock { $0 }, LOCK_EX | LOCK_NB) == 0)
        let pauses = Mutex(0)
        let other = DirectoryHome(
            data: directory, state: scratch["state"], patience: DirectoryHome.patience,
            pause: {
                pauses.withLock { $0 += 1 }
                if pauses.withLock({ $0 }) == 3 { held.withLock { _ = close($0) } }
            })
        #expect(try other.exclusively { () throws(TresorError) in 7 } == 7)
        #expect(pauses.withLock { $0 } == 3)
    }

    @Test func A107_lockEndsWithAnError() throws {
        for _ in 0..<2 {
            #expect(throws: TresorError.forked) {
                try home.exclusively { () throws(TresorError) in throw .forked }
            }
        }
    }

    @Test func A107_manyAtOnceLoseNothing() async throws {
        let paths = (scratch["deep/data"], scratch["state"])
        try home.replace(.heads, with: [0])
        let errors = await withTaskGroup(of: TresorError?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    // However long the others take, the clock stands still: nobody's patience ends.
                    let home = DirectoryHome(
                        data: paths.0, state: paths.1, patience: DirectoryHome.patience, pause: { sched_yield() })
                    return await errorOf {
                        try home.exclusively { () throws(TresorError) in
                            let count = try home.read(.heads)?.first ?? 0
                            try home.replace(.heads, with: [count + 1])
                        }
                    }
                }
            }
            var errors: [TresorError?] = []
            for await error in group { errors.append(error) }
            return errors
        }
        #expect(errors.allSatisfy { $0 == nil }, "\(errors)")
        #expect(try home.read(.heads) == [20])
    }

    @Test func A105_temporariesOfTheDeadAreSweptAndThoseOfTheLivingAreNot() throws {
        try home.replace(.deviceShare, with: [1])
        try home.replace(.log(tresor(1)), with: [1])
        let stale = [
            "deep/data/.tresor-0123456789abcdef.tmp", "deep/data/logs/.tresor-0000000000000002.tmp",
            "state/.tresor-ffffffffffffffff.tmp",
        ]
        for name in stale { try write([1], to: scratch[name]) }
        let others = [
            ".tresor-other", ".tresor-notes.tmp", ".tresor-2.tmp", ".tresor-0123456789ABCDEF.tmp",
            ".tresor-0123456789abcdefa.tmp", ".tresor-0123456789abcdef.tmp.tmp",
        ].map { "deep/data/\($0)" }
        for name in others { try write([1], to: scratch[name]) }
        do {
            let living = try AtomicFile(at: scratch["deep/data/pins"], mode: 0o600)
            try living.write([5].span)
            try home.exclusively { () throws(TresorError) in }
            for name in stale { #expect(!FileManager.default.fileExists(atPath: scratch[name])) }
            for name in others { #expect(FileManager.default.fileExists(atPath: scratch[name]), "\(name)") }
            #expect(try living.commit(replacing: true))
        }
        #expect(try home.read(.pins) == [5])
    }
}
