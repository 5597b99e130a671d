// SPDX-License-Identifier: Apache-2.0

/// A store that is a service (SPEC §18).
package protocol RemoteStore: CalledStore {
    /// The service, for the operations that no ``Store`` has.
    var serviceCaller: any ServiceCaller { get }
    /// The address under which the service is asked.
    var audience: Audience { get }
}
