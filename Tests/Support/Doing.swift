// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The work of a process: its command line, its state, and the call of the kernel it waits in. A wait that is given
/// up says so.
public func doing(_ process: Int32) -> String {
    func content(_ name: String) -> String {
        let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") ?? Data()
        return String(decoding: bytes, as: UTF8.self)
    }
    let words = content("cmdline").split(separator: "\0").joined(separator: " ")
    let state = content("status").split(separator: "\n").first { $0.hasPrefix("State:") }?.dropFirst(6)
    let command = words.isEmpty ? "process \(process)" : words
    let trimmed = state.map { $0.trimmingCharacters(in: .whitespaces) } ?? "gone"
    let waiting = content("wchan")
    return "\(command): \(trimmed)" + (waiting.isEmpty || waiting == "0" ? "" : ", in \(waiting)")
}
