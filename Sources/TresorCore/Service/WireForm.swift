// SPDX-License-Identifier: Apache-2.0

/// The constants of HTTP that client and service share (SPEC §18.3).
package enum WireForm {
    /// The media type of the bodies of requests and answers.
    package static let mediaType = "application/vnd.tresor"

    /// The target of an operation: `/v1/` and its name.
    package static func target(of operation: ServiceOperation) -> String { "/v1/" + operation.rawValue }

    /// The maximum number of headers of a request.
    package static let maximumHeaderCount = 32
    /// The maximum size in bytes of one header of a request: 4 KiB.
    package static let maximumHeaderByteCount = 4 << 10
    /// The maximum size in bytes of all headers of a request: 16 KiB.
    package static let maximumHeadByteCount = 16 << 10
    /// The maximum size in bytes of all heads of an answer, to which proxies add: 64 headers of 8 KiB, and as much again
    /// for one.
    package static let maximumAnswerHeadByteCount = 65 * 8 << 10
}
