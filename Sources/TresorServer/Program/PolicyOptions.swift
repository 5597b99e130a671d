// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorService

    /// The options by which the operator decides about people and their limits.
    struct PolicyOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Give an account at once to nobody (closed), to the invited (by-invitation) or to everybody (open).",
                valueName: "policy"))
        var registration: RegistrationArgument?

        @Option(help: ArgumentHelp("Let a person found this many tresors.", valueName: "number"))
        var quotaTresors: UInt64?

        @Option(help: ArgumentHelp("Let a log have this many entries.", valueName: "number"))
        var quotaEntries: UInt64?

        @Option(
            help: ArgumentHelp("Let the tresors of a founder take this many bytes.", valueName: "bytes"))
        var quotaBytes: UInt64?

        @Option(
            help: ArgumentHelp("Let an account send this many requests a second.", valueName: "number"))
        var quotaRequests: UInt32?

        /// The policy with what the arguments say.
        func applied(to policy: Policy) -> Policy {
            var policy = policy
            if let registration { policy.registration = registration.value }
            if let quotaTresors { policy.quotas.tresors = quotaTresors }
            if let quotaEntries { policy.quotas.entries = quotaEntries }
            if let quotaBytes { policy.quotas.bytes = quotaBytes }
            if let quotaRequests { policy.quotas.requestsPerSecond = quotaRequests }
            return policy
        }

        func validate() throws {
            let numbers = [quotaTresors, quotaEntries, quotaBytes, quotaRequests.map { UInt64($0) }]
            guard numbers.allSatisfy({ $0 != 0 && $0 ?? 0 <= UInt64(Int64.max) }) else {
                throw ValidationError("a quota is at least 1 and less than 2^63")
            }
        }
    }

    /// The policy of registration as the arguments name it.
    enum RegistrationArgument: String, ExpressibleByArgument, CaseIterable {
        case closed
        case byInvitation = "by-invitation"
        case open

        var value: Registration {
            switch self {
            case .closed: .closed
            case .byInvitation: .byInvitation
            case .open: .open
            }
        }
    }

    /// The cost of Argon2id as the arguments name it: `262144,3`.
    struct Argon2idArgument: ExpressibleByArgument, Hashable {
        let memoryKiB: UInt32
        let passes: UInt32

        /// The help shows it as people type it.
        var defaultValueDescription: String { "\(memoryKiB),\(passes)" }

        init?(argument: String) {
            let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
            guard parts.count == 2, let memory = UInt32(parts[0]), let passes = UInt32(parts[1]) else {
                return nil
            }
            memoryKiB = memory
            self.passes = passes
        }

        /// 256 MiB, 3 passes.
        static let standard = Argon2idArgument(memoryKiB: 262_144, passes: 3)

        private init(memoryKiB: UInt32, passes: UInt32) {
            self.memoryKiB = memoryKiB
            self.passes = passes
        }
    }
#endif
