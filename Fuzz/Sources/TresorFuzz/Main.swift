// SPDX-License-Identifier: Apache-2.0

import CFuzzDriver
import Foundation
import TresorCrypto

/// The target is chosen by `TRESOR_FUZZ_TARGET`; with `TRESOR_FUZZ_SEEDS` a corpus is written there instead.
private let target = ProcessInfo.processInfo.environment["TRESOR_FUZZ_TARGET"].flatMap(Target.init)

/// Gives one input to the chosen target. A `TresorError` is an answer; anything else is a finding.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    do {
        try target?.run(bytes)
    } catch is TresorError {
        return 0
    } catch {
        fatalError("an error outside the vocabulary: \(error)")
    }
    return 0
}

/// Lists the targets, writes a corpus of seeds or runs the fuzzer, which then reads its own arguments.
@c(TresorFuzz_main)
public func main(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
    guard let target else {
        print(Target.allCases.map(\.rawValue).joined(separator: "\n"))
        return 0
    }
    if let directory = ProcessInfo.processInfo.environment["TRESOR_FUZZ_SEEDS"] {
        do {
            try Seeds.write(for: target, into: directory)
            return 0
        } catch {
            print("seeds: \(error)")
            return 1
        }
    }
    // What is made at start is not to count as the time of the first input.
    try? target.run([])
    var count = count
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments
    return LLVMFuzzerRunDriver(&count, &arguments, testOneInput)
}
