// SPDX-License-Identifier: Apache-2.0

#if Server
    @main
    enum Main {
        static func main() {}
    }
#else
    /// Says how to build the service.
    @main
    enum Main {
        static func main() {
            print("tresor-server is not built: build it with --traits default,Server")
        }
    }
#endif
