// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore

    /// The person or device that asks, proved by the signatures of the session and of the request.
    struct Caller: Sendable {
        let user: UserID
        /// The device that speaks for itself; `nil` for a person.
        let device: DeviceID?
        /// `nil` for a person without an account, who may only register.
        let account: Account?
        /// The chain of the body, if it is what proves the session.
        let chain: CardChain?
        let request: RequestKey
        /// The rows that answer the request, where they came with those of the session.
        var found: Lookup.Found?
    }
#endif
