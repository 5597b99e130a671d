// SPDX-License-Identifier: Apache-2.0

/// A store that knows its users by a log-in with name and password (SPEC §20.5).
package protocol LoginStore: Store {
    /// The service, for the operations that no ``Store`` has.
    var caller: any ServiceCaller { get }
    /// The address under which the service is asked.
    var audience: Audience { get }
}
