// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Reads one answer from a connection.
package enum AnswerReader {
    /// Reads head and body.
    ///
    /// - Parameters:
    ///   - bytes: what was received before; afterwards what came after the answer.
    ///   - maximumByteCount: the maximum size of the body in bytes.
    ///   - receive: gives more bytes; none at the end of the connection.
    /// - Throws: ``TransportFailure/foreign`` for anything but one answer with a length;
    ///   ``TransportFailure/broken`` for an end before that of the answer; the errors of `receive`.
    package static func answer(
        _ bytes: inout [UInt8], maximumByteCount: Int, receive: () throws(TransportFailure) -> [UInt8]
    ) throws(TransportFailure) -> (head: AnswerHead, body: [UInt8]) {
        let head = try head(&bytes, receive: receive)
        guard let length = head.length, length <= maximumByteCount else { throw .foreign }
        while bytes.count < length {
            let more = try receive()
            guard !more.isEmpty else { throw .broken }
            bytes += more
        }
        let body = Array(bytes[..<length])
        bytes.removeFirst(length)
        return (head, body)
    }

    /// Reads a head, and removes it from `bytes`.
    ///
    /// - Parameter isOfProxy: whether it answers a CONNECT.
    package static func head(
        _ bytes: inout [UInt8], isOfProxy: Bool = false, receive: () throws(TransportFailure) -> [UInt8]
    ) throws(TransportFailure) -> AnswerHead {
        var searched = 0
        while true {
            if let end = AnswerHead.end(in: bytes, from: searched) {
                let head: AnswerHead
                do throws(TresorError) {
                    head = try AnswerHead(Array(bytes[..<end]), isOfProxy: isOfProxy)
                } catch {
                    throw .foreign
                }
                bytes.removeFirst(end)
                return head
            }
            guard bytes.count < AnswerHead.maximumByteCount else { throw .foreign }
            searched = bytes.count - 3
            let more = try receive()
            guard !more.isEmpty else { throw .broken }
            bytes += more
        }
    }
}
