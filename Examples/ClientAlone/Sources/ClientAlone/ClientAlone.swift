// SPDX-License-Identifier: Apache-2.0

import Tresor

/// A program that needs the client and brings a home and a store of its own.
@main struct ClientAlone {
    static func main() {
        print(Client.self)
    }
}
