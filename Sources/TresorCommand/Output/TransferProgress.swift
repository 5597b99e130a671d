// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorRemote

/// How far large transfers to and from a service are: shown when a second has passed since the first one began.
final class TransferProgress: Sendable {
    /// The size in bytes up to which a transfer is not shown.
    private static let smallByteCount = 64 << 10

    private struct Lines {
        var sent: Progress?
        var received: Progress?
    }

    private let make: @Sendable (String) -> Progress
    private let lines = Mutex(Lines())

    /// - Parameter make: makes the line for a work of this name.
    init(_ make: @escaping @Sendable (String) -> Progress) { self.make = make }

    /// Shows how far a transfer is. Any thread may call it.
    func update(_ transfer: Transfer) {
        guard transfer.total > Self.smallByteCount else { return }
        lines.withLock { lines in
            if lines.sent == nil { lines = Lines(sent: make("sending"), received: make("receiving")) }
            let line = transfer.isSent ? lines.sent : lines.received
            guard transfer.byteCount < transfer.total else {
                line?.finish()
                return
            }
            line?.update(WorkDone(UInt64(transfer.byteCount), of: UInt64(transfer.total)))
        }
    }

    /// Erases what is shown.
    func finish() {
        lines.withLock { lines in
            lines.sent?.finish()
            lines.received?.finish()
        }
    }
}
