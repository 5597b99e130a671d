// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Proves what can be proved without a secret, and restores entries that a store has lost (cli: `check`).
package struct Audit: Sendable {
    let client: Client

    /// How far a time may lie after this machine's clock without a finding, in seconds.
    private static let clockTolerance: UInt64 = 300

    private var home: any Home { client.home }
    var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Proves what can be proved without a secret. A file that cannot be read is a finding, not an error.
    ///
    /// It checks the form of the identity file, its key slots, the pins, the logs of tresors, their heads, members and
    /// end dates.
    ///
    /// - Parameters:
    ///   - tresors: the tresors to check; `nil` for all that this home knows.
    ///   - progress: takes the number of tresors that are checked, of all.
    /// - Throws: ``TresorError/cancelled`` for a task that was cancelled.
    @concurrent package func check(
        _ tresors: [TresorID]? = nil, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> [Finding] {
        var findings = await checkIdentity()
        let pins = reading(.pins, &findings) { () throws(TresorError) in try client.people.pinnedBlocking() } ?? []
        for pin in pins where !pin.isReplaced {
            try Cancellation.check()
            let finding = await check(pin)
            // A store that fails says nothing of a person, and is named once.
            if case .failed(.store) = finding.remark, findings.contains(where: { $0.remark == finding.remark }) {
                continue
            }
            findings.append(finding)
        }
        let known = reading(.heads, &findings) { () throws(TresorError) in try client.logs.knownBlocking() } ?? []
        let isUnfinished =
            reading(.cleanupJournal, &findings) { () throws(TresorError) in
                _ = try client.cleanup.journal()
                return isIdentityRead ? try client.cleanup.isPendingBlocking() : false
            } ?? false
        if isUnfinished { findings.append(Finding(subject: .home, remark: .interrupted)) }
        let ownTime = (try? client.heads().ownTime) ?? 0
        if ownTime > clock() + Self.clockTolerance {
            findings.append(Finding(subject: .home, remark: .aheadOfClock(ownTime)))
        }
        reading(.notedStores, &findings) { () throws(TresorError) in
            if let bytes = try home.read(.notedStores) { _ = try NotedStores(bytes) }
        }
        reading(.knownServices, &findings) { () throws(TresorError) in
            if let bytes = try home.read(.knownServices) { _ = try KnownServices(bytes) }
        }
        reading(.knownLogins, &findings) { () throws(TresorError) in
            if let bytes = try home.read(.knownLogins) { _ = try KnownLogins(bytes) }
        }
        reading(.wraps, &findings) { () throws(TresorError) in
            if let bytes = try home.read(.wraps) { _ = try KeptWraps(bytes) }
        }
        reading(.marks, &findings) { () throws(TresorError) in try client.openMarks() }
        let wanted = tresors ?? known
        for (index, tresor) in wanted.enumerated() {
            try Cancellation.check()
            if tresors == nil, await isElsewhere(tresor) {
                findings.append(Finding(subject: .tresor(tresor), remark: .elsewhere))
            } else {
                findings += await check(tresor)
            }
            progress?(WorkDone(UInt64(index + 1), of: UInt64(wanted.count)))
        }
        try Cancellation.check()
        return findings
    }

    /// Reads a file of the home. A file that does not decode becomes a finding, and the other files are still checked.
    @discardableResult private func reading<Value>(
        _ object: HomeObject, _ findings: inout [Finding], _ read: () throws(TresorError) -> Value
    ) -> Value? {
        do throws(TresorError) {
            return try read()
        } catch {
            findings.append(Finding(subject: .file(object), remark: .failed(error)))
            return nil
        }
    }

    private func checkIdentity() async -> [Finding] {
        let file: IdentityFile
        do throws(TresorError) {
            file = try client.identityFileBlocking()
        } catch {
            return [Finding(subject: .identity, remark: error == .notFound ? .missing : .failed(error))]
        }
        var findings = [Finding(subject: .identity, remark: .fine)]
        do throws(TresorError) {
            findings += try await checkCard(file.chain)
            findings += try await checkKit(file)
        } catch {
            findings.append(Finding(subject: .identity, remark: .failed(error)))
        }
        let dead = (try? client.cleanup.deadDevicesBlocking()) ?? []
        findings += file.devices.filter { !dead.contains($0.id) }.map { device in
            Finding(subject: .device(device.id), remark: remark(on: device))
        }
        return findings + (await checkDeviceShare(file))
    }

    private func remark(on device: TrustedDevice) -> Finding.Remark {
        guard clock() <= device.until else { return .expired }
        // One that was trusted beside something signed later ends by the clock.
        let isAhead = device.since > clock() + Self.clockTolerance && device.until > device.since
        return isAhead ? .aheadOfClock(device.since) : .fine
    }

    private func checkCard(_ chain: CardChain) async throws(TresorError) -> [Finding] {
        let present = try await store.card(of: chain.user)
        guard present != chain.bytes else { return [] }
        let subject = Finding.Subject.person(chain.user)
        guard let present, let shown = try? CardChain(present), !chain.extends(shown) else {
            return [Finding(subject: subject, remark: .notPublished)]
        }
        guard shown.user == chain.user else { return [Finding(subject: subject, remark: .failed(.altered))] }
        return [Finding(subject: subject, remark: shown.isNewer(than: chain) ? .newerKeys : .failed(.forked))]
    }

    private func checkKit(_ file: IdentityFile) async throws(TresorError) -> [Finding] {
        guard let locator = file.kitLocator else { return [Finding(subject: .identity, remark: .withoutKit)] }
        let bytes = try await store.kitCopy(locator: locator)
        if bytes == nil, let other = client.archive.otherStore(of: TresorID(locator)) {
            return [Finding(subject: .identity, remark: .kitElsewhere(other))]
        }
        guard let copy = bytes.flatMap({ try? IdentityFile($0) }), copy.isKitCopy, copy.chain == file.chain,
            copy.kitLocator == locator
        else { return [Finding(subject: .identity, remark: .withoutKitCopy)] }
        // From now on, silence is a finding here too. A home that cannot note it is checked all the same.
        try? client.archive.noteStore(ofKit: locator)
        return []
    }

    private func checkDeviceShare(_ file: IdentityFile) async -> [Finding] {
        do throws(TresorError) {
            guard let share = try client.device.share() else { return [] }
            let subject = Finding.Subject.device(share.id)
            guard file.devices.contains(where: { $0.id == share.id }), share.user == file.chain.user else {
                return [Finding(subject: subject, remark: .withoutSlot)]
            }
            guard try await store.serverShare(user: share.user, device: share.id) != nil else {
                return [Finding(subject: subject, remark: .withoutServerShare)]
            }
            return []
        } catch {
            return [Finding(subject: .home, remark: .failed(error))]
        }
    }

    private func check(_ pin: Pin) async -> Finding {
        let subject = Finding.Subject.person(pin.chain.user)
        do throws(TresorError) {
            switch try await client.people.person(pin.chain.user).trust {
            case .me, .verified:
                let isBehind = try await client.people.offeredChain(of: pin.chain.user).map { $0 != pin.chain } ?? false
                if isBehind { return Finding(subject: subject, remark: .olderCard) }
                let others = try await client.people.impostors(of: pin.chain.handle)
                return Finding(subject: subject, remark: others.isEmpty ? .fine : .anotherCard)
            case .renewed: return Finding(subject: subject, remark: .renewed)
            case .changed, .unverified: return Finding(subject: subject, remark: .failed(.unverified))
            }
        } catch {
            return Finding(subject: subject, remark: .failed(error))
        }
    }

    /// Whether the store need not have a tresor, and has nothing of it. A failure of the store is a finding of its own.
    func isElsewhere(_ tresor: TresorID) async -> Bool { (try? await client.archive.isElsewhere(tresor)) ?? false }

    private func check(_ tresor: TresorID) async -> [Finding] {
        let subject = Finding.Subject.tresor(tresor)
        do throws(TresorError) {
            // Only a home that tells who this person is can judge what to remember.
            let state = try await client.logs.state(of: tresor, remembering: isIdentityRead ? .yes : .no)
            var (bodies, bodyCheck) = ([Finding](), BodyCheck(state))
            let shown = try await shownEntries(of: state) { (bytes) throws(TresorError) in
                guard let remark = try bodyCheck.remark(on: bytes) else { return }
                bodies.append(Finding(subject: subject, remark: remark))
            }
            guard let shown else { throw .forked }
            let lost = shown.missing(of: state.entryCount)
            let isWhole = lost == 0
            var findings = try check(state, subject, isWhole: isWhole) + bodies
            findings += try await WrapCheck(client: client).findings(in: state)
            return (isWhole ? [] : [Finding(subject: subject, remark: .lostEntries(lost))]) + findings
        } catch {
            if error == .forked, let fork = try? await fork(of: tresor) {
                return [Finding(subject: subject, remark: fork)]
            }
            return [Finding(subject: subject, remark: .failed(error))]
        }
    }

    /// Checks a verified state.
    ///
    /// - Parameter isWhole: whether the store shows the whole log; only then is its head reported.
    private func check(
        _ state: LogState, _ subject: Finding.Subject, isWhole: Bool
    ) throws(TresorError) -> [Finding] {
        let now = clock()
        let age = now > state.headTime ? now - state.headTime : 0
        var findings = isWhole ? [Finding(subject: subject, remark: .head(state.head, age: age))] : []
        if state.headTime > now + Self.clockTolerance {
            findings.append(Finding(subject: subject, remark: .clockBehind))
        }
        if state.isRekeyPending { findings.append(Finding(subject: subject, remark: .rekeyPending)) }
        if let pins = try? client.pins(), isIdentityRead {
            switch try client.trust.founderTrust(in: state) {
            case .me, .verified: break
            case .renewed: findings.append(Finding(subject: .person(state.founder), remark: .renewed))
            // Only the unlocked identity can decide whether a tresor that names this person as founder is theirs.
            case .unverified where client.identity == nil && isMine(state): break
            case .unverified: findings.append(Finding(subject: subject, remark: .ownerNotVerified))
            case .changed: findings.append(Finding(subject: subject, remark: .failed(.unverified)))
            }
            for user in state.members.keys.sorted() where user != state.founder {
                guard let chain = state.chain(of: user), !pins.contradicting(chain).isEmpty else { continue }
                findings.append(Finding(subject: .member(user, of: state.tresor), remark: .failed(.unverified)))
            }
        }
        let ended = state.members.merging(state.waiting) { member, _ in member }
            .filter { $0.value.notAfter.map { now > $0 } ?? false }
        findings += ended.keys.sorted().map { Finding(subject: .member($0, of: state.tresor), remark: .ended) }
        return findings
            + state.waiting.sorted { $0.key < $1.key }.map { user, asked in
                Finding(subject: .member(user, of: state.tresor), remark: .waiting(by: asked.admittedBy))
            }
    }

    /// Whether the identity file tells who *me* is. A file that does not decode is a finding of its own.
    private var isIdentityRead: Bool {
        do throws(TresorError) { _ = try client.people.ownChain() } catch { return false }
        return true
    }

    private func isMine(_ state: LogState) -> Bool { (try? client.people.ownChain()?.user) == state.founder }

    /// Reports both heads where a store shows another history. It may show a third history by now: the reported one is
    /// kept.
    private func fork(of tresor: TresorID) async throws(TresorError) -> Finding.Remark? {
        guard let divergence = try await client.logs.divergence(of: tresor), !divergence.isOver else { return nil }
        return .forked(
            seen: divergence.evidence.head, shown: divergence.shown, evidence: try client.logs.keep(divergence.evidence)
        )
    }
}
