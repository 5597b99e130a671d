// SPDX-License-Identifier: Apache-2.0

/// One thing that was looked at, and how it was found (cli: `check`).
public struct Finding: Hashable, Sendable {
    /// How bad it is.
    public enum Level: String, Hashable, Sendable, Comparable {
        /// In order.
        case ok
        /// Worth knowing; nothing is wrong.
        case warn
        /// Not in order.
        case bad

        /// `ok` before `warn` before `bad`.
        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .ok: 0
            case .warn: 1
            case .bad: 2
            }
        }
    }

    /// What was looked at.
    public enum Subject: Hashable, Sendable {
        /// The identity file.
        case identity
        /// A remembered device.
        case device(DeviceID)
        /// A person.
        case person(UserID)
        /// A tresor.
        case tresor(TresorID)
        /// A member of a tresor.
        case member(UserID, of: TresorID)
    }

    /// What was found.
    public enum Remark: Hashable, Sendable {
        /// It is in order.
        case fine
        /// There is none.
        case missing
        /// It could not be proved: the error.
        case failed(TresorError)
        /// A device opens no longer.
        case expired
        /// A member's date has passed; an owner's next act removes them.
        case ended
        /// The key must be changed before the next writing.
        case rotateFirst
        /// The owner's number was not compared.
        case ownerNotVerified
        /// The person has new keys; compare numbers again.
        case renewed
        /// The newest entry is dated later than this machine's clock says.
        case clockBehind
        /// A member has no wrap for an epoch they may read; `check --put-back` by who reads everything puts it again.
        case missingWrap
        /// The store has a wrap for somebody who is not in, or for an epoch that is not theirs.
        case surplusWrap
        /// The head of a verified log, and how old its newest entry is in seconds.
        case head(Head, age: UInt64)
    }

    /// What was looked at.
    public let subject: Subject
    /// What was found.
    public let remark: Remark

    /// How bad it is.
    public var level: Level {
        switch remark {
        case .fine, .head: .ok
        case .missing, .expired, .ended, .rotateFirst, .ownerNotVerified, .renewed, .clockBehind, .missingWrap,
            .surplusWrap:
            .warn
        case .failed: .bad
        }
    }
}

extension Client {
    /// Proves what can be proved without a secret: the identity file's form, the logs of all known tresors or of some, their heads, people,
    /// dates and wraps.
    ///
    /// - Parameter tresors: `nil` for all that this home knows.
    public func check(_ tresors: [TresorID]? = nil) async throws(TresorError) -> [Finding] {
        var findings = checkIdentity()
        for pin in try pinnedPeople() where !pin.isReplaced {
            findings.append(await check(pin))
        }
        let known = try knownTresors()
        for tresor in tresors ?? known {
            findings += await check(tresor)
        }
        return findings
    }

    private func checkIdentity() -> [Finding] {
        do throws(TresorError) {
            let file = try identityFile()
            let devices = file.devices.map { device in
                Finding(subject: .device(device.id), remark: clock() > device.until ? .expired : .fine)
            }
            return [Finding(subject: .identity, remark: .fine)] + devices
        } catch {
            return [Finding(subject: .identity, remark: error == .notFound ? .missing : .failed(error))]
        }
    }

    private func check(_ pin: Pin) async -> Finding {
        let subject = Finding.Subject.person(pin.chain.user)
        do throws(TresorError) {
            switch try await person(pin.chain.user).trust {
            case .me, .verified: return Finding(subject: subject, remark: .fine)
            case .renewed: return Finding(subject: subject, remark: .renewed)
            case .changed, .unverified: return Finding(subject: subject, remark: .failed(.unverified))
            }
        } catch {
            return Finding(subject: subject, remark: .failed(error))
        }
    }

    private func check(_ tresor: TresorID) async -> [Finding] {
        let subject = Finding.Subject.tresor(tresor)
        do throws(TresorError) {
            let state = try await state(of: tresor)
            return try check(state) + (await checkWraps(in: state))
        } catch {
            return [Finding(subject: subject, remark: .failed(error))]
        }
    }

    private func check(_ state: State) throws(TresorError) -> [Finding] {
        let subject = Finding.Subject.tresor(state.tresor)
        let now = clock()
        let age = now > state.headTime ? now - state.headTime : 0
        var findings = [Finding(subject: subject, remark: .head(state.head, age: age))]
        if state.headTime > now + 300 { findings.append(Finding(subject: subject, remark: .clockBehind)) }
        if state.rotateFirst { findings.append(Finding(subject: subject, remark: .rotateFirst)) }
        switch try founderTrust(in: state) {
        case .me, .verified: break
        case .renewed: findings.append(Finding(subject: .person(state.founder), remark: .renewed))
        case .unverified: findings.append(Finding(subject: subject, remark: .ownerNotVerified))
        case .changed: findings.append(Finding(subject: subject, remark: .failed(.unverified)))
        }
        let ended = state.members.filter { $0.value.notAfter.map { now > $0 } ?? false }
        findings += ended.keys.sorted().map {
            Finding(subject: .member($0, of: state.tresor), remark: .ended)
        }
        return findings
    }
}

extension Session {
    /// Proves what needs the identity: that it opens, that each tresor's keys and name are what the log committed to.
    public func checkDeep(_ tresors: [TresorID]? = nil) async throws(TresorError) -> [Finding] {
        var findings: [Finding] = []
        let known = try client.knownTresors()
        for tresor in tresors ?? known {
            let subject = Finding.Subject.member(identity.user, of: tresor)
            do throws(TresorError) {
                let state = try await client.state(of: tresor)
                guard state.members[identity.user] != nil else { continue }
                _ = try await name(in: state)
                if case .all = state.members[identity.user]?.history { _ = try await keys(of: 1, in: state) }
                findings.append(Finding(subject: subject, remark: .fine))
            } catch {
                findings.append(Finding(subject: subject, remark: .failed(error)))
            }
        }
        return findings
    }
}
