// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCrypto

    extension Authentication {
        /// Whether a signature verifies.
        ///
        /// - Throws: the errors of the library.
        static func holds(_ check: () throws(TresorError) -> Void) throws(TresorError) -> Bool {
            do throws(TresorError) {
                try check()
                return true
            } catch {
                guard error == .altered else { throw error }
                return false
            }
        }
    }
#endif
