// SPDX-License-Identifier: Apache-2.0

import CFuzzDriver
import Foundation
import TresorCrypto

/// `TRESOR_FUZZ_TARGET` names the target. With `TRESOR_FUZZ_SEEDS` the program writes a corpus there instead.
private let target = ProcessInfo.processInfo.environment["TRESOR_FUZZ_TARGET"].flatMap(Target.init)

/// Passes one input to the target. A `TresorError` is a valid answer; anything else is a finding.
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
    // The start does not count as the time of the first input.
    try? target.run([])
    var count = count
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments
    return LLVMFuzzerRunDriver(&count, &arguments, testOneInput)
}
