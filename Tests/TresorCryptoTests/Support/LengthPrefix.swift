// SPDX-License-Identifier: Apache-2.0

/// `LP(bytes)` of SPEC §2, written once more.
func lengthPrefixed(_ bytes: [UInt8]) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(bytes.count >> $0 & 0xff) } + bytes
}
