// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// The allocator that the program brings along (`Sources/Cerasure`), in a small program with it and in one without.
    @Suite(.enabled(if: Compiler.path != nil, "there is no C compiler")) struct ErasureTests {
        /// Releases blocks of several sizes, moves others, and looks at what was in them. Ends with how many kept it.
        private static let source = """
            #include <stdint.h>
            #include <stdlib.h>
            #include <string.h>

            static int keeps(uintptr_t place, size_t size) {
              const volatile unsigned char *bytes = (const volatile unsigned char *)place;
              for (size_t i = size / 2; i < size / 2 + 8; i++)
                if (bytes[i] != 0x5a) return 0;
              return 1;
            }

            int main(void) {
              const size_t sizes[] = {40, 200, 1000, 5000, 50000};
              int kept = 0;
              for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                for (int moves = 0; moves < 2; moves++) {
                  unsigned char *block = malloc(sizes[i]), *fence = malloc(16);
                  if (!block || !fence) return 100;
                  uintptr_t place = (uintptr_t)block;
                  memset(block, 0x5a, sizes[i]);
                  void *moved = moves ? realloc(block, 3 * sizes[i]) : (free(block), NULL);
                  kept += place != (uintptr_t)moved && keeps(place, sizes[i]);
                  free(moved);
                  free(fence);
                }
              }
              return kept;
            }
            """

        private static let erasure = Repository.root.appending(path: "Sources/Cerasure").path(percentEncoded: false)

        /// - Parameter library: an allocator that writes to the file `counts`.
        static func kept(preloading library: String, counts: String, options: [String] = []) throws -> Int32 {
            try kept(with: options + [erasure + "/free.c"], environment: ["LD_PRELOAD": library, "COUNTS": counts])
        }

        private static func kept(with sources: [String], environment: [String: String] = [:]) throws -> Int32 {
            let scratch = try Scratch()
            try Data(source.utf8).write(to: URL(fileURLWithPath: scratch["main.c"]))
            let process = Process()
            process.executableURL = URL(
                fileURLWithPath: try Compiler.compile(
                    ["-fno-builtin", "-w", "-I", erasure + "/include", scratch["main.c"]] + sources,
                    to: scratch["main"]))
            process.environment = environment
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }

        @Test func A40_withoutErasureWhatIsReleasedStays() throws {
            #expect((6...10).contains(try Self.kept(with: [])))
            #expect(try Self.kept(with: [Self.erasure + "/free.c"]) == 0)
        }
    }
#endif
