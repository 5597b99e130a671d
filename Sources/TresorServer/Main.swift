// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    @main
    enum Main {
        static func main() async {
            exit(await ServerProgram.run(Array(CommandLine.arguments.dropFirst())))
        }
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
