// SPDX-License-Identifier: Apache-2.0

/// A person who may no longer write, and who signed a file with a head that is not in the log.
public struct FormerAuthor: Hashable, Sendable {
    /// The handle, from the log.
    public let handle: Name
    /// The end of their right to write: its reason and its time.
    public let former: AuthorStatus.Former
}
