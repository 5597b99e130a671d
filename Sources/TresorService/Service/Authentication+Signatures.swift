// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    extension Authentication {
        /// The reason for the operator why a header was not read: it is for another service, of another time, or for
        /// another address; `nil` for none that reads.
        func cause(of text: String?) -> Refusal.Cause? {
            guard let text, let authorization = try? Authorization(text) else { return nil }
            guard authorization.statement.server == server else { return .service }
            let (now, window) = (clock(), RequestStatement.clockWindow)
            let isOfNow = authorization.time <= now + window && now <= authorization.time + window
            guard isOfNow else { return .clock }
            let statement = authorization.statement
            return statement.since <= now + window && now <= statement.until ? .address : .ended
        }

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
