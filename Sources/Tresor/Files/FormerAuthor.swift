// SPDX-License-Identifier: Apache-2.0

/// Somebody who may no longer write, and signed a file that names a head which is not on the log.
public struct FormerAuthor: Hashable, Sendable {
    /// The handle, from the log.
    public let handle: Name
    /// How and when they ceased to be a writer.
    public let former: AuthorStatus.Former
}
