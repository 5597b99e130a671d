// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The person or the device in whose name a store is called. A service signs and judges by it (SPEC §18.2); a store that
/// everybody may use does not look at it.
package enum Speaker: Sendable {
    /// A person. The closure names the trusted device on which they speak; `nil` for another one.
    case person(Identity, device: @Sendable () -> DeviceID? = { nil })
    case device(DeviceShare)

    /// The speaker of this task; `nil` for nobody.
    @TaskLocal package static var current: Speaker?

    /// The home of the speaker of this task, which knows the services that it has met; `nil` for a speaker without one.
    @TaskLocal package static var home: (any Home)?

    /// The user id of the person, or of the person whose device it is.
    package var user: UserID {
        switch self {
        case .person(let identity, _): identity.user
        case .device(let share): share.user
        }
    }

    /// Makes calls in the name of this speaker.
    ///
    /// - Parameter home: the home of the speaker, which judges who a service is; `nil` believes what each service says.
    /// - Throws: the errors of `calls`.
    package func call<Answer>(
        from home: (any Home)?, _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let result = await Self.$current.withValue(self) { () async -> Result<Answer, TresorError> in
            await Self.$home.withValue(home) { () async -> Result<Answer, TresorError> in
                do throws(TresorError) { return .success(try await calls()) } catch { return .failure(error) }
            }
        }
        return try result.get()
    }
}
