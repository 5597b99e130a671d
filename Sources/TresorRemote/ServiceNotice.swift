// SPDX-License-Identifier: Apache-2.0

/// A notice of a client to a person, beside the answer to a request.
package enum ServiceNotice: Hashable, Sendable {
    /// The clocks differ, and requests are signed by that of the service. Both in seconds since 1970.
    case clockOff(own: UInt64, service: UInt64)
    /// The clocks differ too far for that.
    case clockFarOff(own: UInt64, service: UInt64)
    /// The service is another one than the home has met at this address.
    case otherService
    /// The service takes the keys of the person, but does not know the device of this home.
    case deviceUnknown
}
