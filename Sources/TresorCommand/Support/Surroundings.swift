// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorSQLite
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Everything that one run reaches outside of itself: its two outputs, the store behind a path, and the time.
///
/// The program has one value of it, which no argument, variable or file changes. A test that runs the command in its own
/// process brings another.
struct Surroundings: Sendable {
    @TaskLocal static var current = Surroundings()

    var output = Channel(descriptor: STDOUT_FILENO, name: "standard output")
    var error = Channel(descriptor: STDERR_FILENO, name: "standard error")
    /// Opens the store at a path; a missing one is made if the second parameter says so.
    var openStore: @Sendable (String, Bool) async throws(TresorError) -> any Store = {
        (path, creating) async throws(TresorError) in try await SQLiteStore.open(at: path, creating: creating)
    }
    /// Opens the store of a service, which signs requests by a clock.
    var openService:
        @Sendable (ServiceLocation, ServiceReport, @escaping @Sendable () -> UInt64) throws(CommandFailure) -> HTTPStore =
            { (service, report, clock) throws(CommandFailure) in try service.open(report: report, clock: clock) }
    /// The clock, in seconds since 1970.
    var now: @Sendable () -> UInt64 = { UInt64(max(0, time(nil))) }
    /// The time between two readings of a store that has no news, for a command that goes on.
    var watchInterval = Duration.seconds(2)
    /// How a change of the key slots waits for that of another process.
    var slotWait = SlotWait()
    /// How two machines of one person wait for each other.
    var deviceWait = DeviceWait()
    /// The words of this run, from which ``HintCompletion`` makes hints.
    let words = Words()
    let keys = KeyStanding()
    let obstacle = LastObstacle()
    let homeFault = LastHomeFault()
    let unverified = UnverifiedPerson()
    let notices = ServiceNotices()
    let storeDoubt = StoreDoubt()
    let leftBehind = LeftBehind()
    /// The turns of this run: what a client read holds to the end of one.
    let turns = Turns()

    final class Words: Sendable {
        let given = Mutex<[String]>([])
        /// The names of the options among them that take a value.
        let valued = Mutex<Set<String>>([])
        /// The options that name the store in use to a command in another home.
        let store = Mutex<@Sendable () -> [String]>({ [] })
    }
}
