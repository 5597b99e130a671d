// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore

    extension Name {
        /// The name in a sentence or a line, as the command shows it. So nobody's handle goes on as the sentence does,
        /// with a safety number of its own.
        var shown: String { ShownText.name(text) }
    }
#endif
