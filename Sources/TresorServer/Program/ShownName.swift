// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore

    extension Name {
        /// The name in a sentence or a line: as it is when it is usual, otherwise quoted. So nobody's handle goes on as the
        /// sentence does, with a safety number of its own.
        var shown: String {
            let isUsual =
                !bytes.isEmpty && bytes.first != UInt8(ascii: "-")
                && text.unicodeScalars.allSatisfy { scalar in
                    "-_.@+".unicodeScalars.contains(scalar) || scalar.properties.isAlphabetic
                        || scalar.properties.numericType != nil
                }
            guard !isUsual else { return text }
            return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }
    }
#endif
