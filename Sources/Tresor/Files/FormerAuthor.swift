// SPDX-License-Identifier: Apache-2.0

package import TresorCore

/// A person who may no longer write, and who signed a file with a head that is not in the log.
package struct FormerAuthor: Hashable, Sendable {
    /// The handle, from the log.
    package let handle: Name
    /// The end of their right to write: its reason and its time.
    package let former: AuthorStatus.Former
}
