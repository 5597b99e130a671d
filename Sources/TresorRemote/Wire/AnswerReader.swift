// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// Reads one answer from a connection.
package enum AnswerReader {
    /// Reads head and body.
    ///
    /// - Parameters:
    ///   - bytes: what was received before; afterwards what came after the answer.
    ///   - maximumByteCount: the maximum size of the body in bytes.
    ///   - report: takes the bytes of the body that are there, and their number in the end.
    ///   - receive: gives more bytes; none at the end of the connection.
    /// - Throws: the failure that stands for another answer than that of a service; ``TransportFailure/broken`` for an
    ///   end before that of the answer; the errors of `receive`.
    package static func answer(
        _ bytes: inout [UInt8], maximumByteCount: Int, report: (Int, Int) -> Void = { _, _ in },
        receive: () throws(TransportFailure) -> [UInt8]
    ) throws(TransportFailure) -> (head: AnswerHead, body: [UInt8]) {
        let head = try head(&bytes, receive: receive)
        if let obstacle = head.obstacle { throw TransportFailure(obstacle) }
        guard let length = head.length, length <= maximumByteCount else { throw .foreign }
        while bytes.count < length {
            report(bytes.count, length)
            let more = try receive()
            guard !more.isEmpty else { throw .broken }
            bytes += more
        }
        report(length, length)
        let body = Array(bytes[..<length])
        bytes.removeFirst(length)
        return (head, body)
    }

    /// Reads the head that counts, and removes it and those before it from `bytes`.
    package static func head(
        _ bytes: inout [UInt8], receive: () throws(TransportFailure) -> [UInt8]
    ) throws(TransportFailure) -> AnswerHead {
        var left = WireForm.maximumAnswerHeadByteCount
        var searched = 0
        while true {
            guard beginsAsHead(bytes) else { throw TransportFailure(.noHTTP) }
            if let end = AnswerHead.end(in: bytes, from: searched), end <= left {
                let head: AnswerHead
                do throws(TresorError) { head = try AnswerHead(Array(bytes[..<end])) } catch {
                    throw TransportFailure(.noHTTP)
                }
                bytes.removeFirst(end)
                guard head.isInterim else { return head }
                (left, searched) = (left - end, 0)
                continue
            }
            guard bytes.count < left else { throw TransportFailure(.noHTTP) }
            searched = bytes.count - 3
            let more = try receive()
            guard !more.isEmpty else { throw .broken }
            bytes += more
        }
    }

    /// Whether bytes can be the beginning of a head: a program that greets first would be waited for.
    private static func beginsAsHead(_ bytes: [UInt8]) -> Bool {
        let mark = "HTTP/1.".utf8
        return bytes.prefix(mark.count).elementsEqual(mark.prefix(bytes.count))
    }
}
