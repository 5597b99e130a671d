// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The person or the device in whose name a store is called. A service signs and judges by it (SPEC §18.2); a store that
/// everybody may use does not look at it.
package struct Caller: Sendable {
    package enum Key: Sendable {
        /// A person. The closure names the trusted device on which they call; `nil` for another one.
        case person(Identity, device: @Sendable () -> DeviceID?)
        case device(DeviceShare)
    }

    package let key: Key
    /// The home of the caller, which judges who a service is; `nil` believes what each service says.
    package let home: (any Home)?

    /// A person, on the device that the closure names; `nil` for another one.
    package static func person(
        _ identity: Identity, device: @escaping @Sendable () -> DeviceID? = { nil }, from home: (any Home)? = nil
    ) -> Caller { Caller(key: .person(identity, device: device), home: home) }

    /// A device, which asks for its own server share.
    package static func device(_ share: DeviceShare, from home: (any Home)? = nil) -> Caller {
        Caller(key: .device(share), home: home)
    }

    /// The user id of the person, or of the person whose device it is.
    package var user: UserID {
        switch key {
        case .person(let identity, _): identity.user
        case .device(let share): share.user
        }
    }
}

/// A store that looks at who calls it.
package protocol CalledStore: Store {
    /// Makes calls in the name of somebody.
    ///
    /// - Parameter calls: gets the store by which it makes them.
    /// - Throws: the errors of `calls`.
    func called<Answer>(
        by caller: Caller, _ calls: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer
}
