// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// The program under a preloaded allocator.
    @Suite(.disabled(if: isSanitized, "a sanitizer brings an allocator of its own")) struct AllocatorTests {
        private let stage: Stage

        init() throws {
            stage = try Stage("anna")
            try stage.share(of: "anna")
            try stage.write(Stage.plan(), to: "plan.json")
        }

        private static let jemalloc = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/libjemalloc.so.2" }
            .first { FileManager.default.fileExists(atPath: $0) }

        private func expectWork() throws {
            for arguments in [
                ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"],
                ["decrypt", "plan.tresor", "-o", "read.json"], ["list"], ["check", "--deep", "plan.tresor"],
            ] {
                let ending = try stage.run(as: "anna", arguments)
                #expect(ending.code == 0, "\(arguments): \(ending.errorText)")
            }
            #expect(stage["read.json"] == Stage.plan())
        }

        @Test(.enabled(if: jemalloc != nil, "libjemalloc2 is not installed"))
        func A213_underJemallocTheProgramWorks() throws {
            stage.environment["LD_PRELOAD"] = Self.jemalloc
            try expectWork()
        }

        /// An allocator that knows its own blocks, aborts at others, and counts those that come back as they were
        /// written to.
        static let source = """
            #include <errno.h>
            #include <stdint.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            #include <sys/mman.h>
            struct head { size_t size, mark; };
            enum { MARK = 0x7e5042 };
            static char *room;
            static size_t used, limit = (size_t)16 << 30;
            static long given, released, kept;
            void *memalign(size_t alignment, size_t size) {
              if (!room) room = mmap(0, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
              if (alignment < 16) alignment = 16;
              size = (size + 15) & ~(size_t)15;
              size_t end = __atomic_add_fetch(&used, size + 2 * alignment, __ATOMIC_SEQ_CST);
              if (end > limit) return NULL;
              uintptr_t place = (uintptr_t)room + end - size - alignment;
              place = (place + alignment - 1) & ~(alignment - 1);
              struct head *head = (struct head *)place - 1;
              head->size = size;
              head->mark = MARK;
              __atomic_add_fetch(&given, 1, __ATOMIC_SEQ_CST);
              return (void *)place;
            }
            void *malloc(size_t size) { return memalign(16, size); }
            void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
            void *calloc(size_t count, size_t size) { return memalign(16, count * size); }
            int posix_memalign(void **block, size_t alignment, size_t size) {
              return (*block = memalign(alignment, size)) ? 0 : ENOMEM;
            }
            static size_t size_of(void *block) {
              struct head *head = (struct head *)block - 1;
              if (head->mark != MARK) abort();
              return head->size;
            }
            void free(void *block) {
              if (!block) return;
              size_t size = size_of(block);
              ((struct head *)block - 1)->mark = 0;
              __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
              for (size_t i = 0; i < size; i++)
                if (((char *)block)[i]) {
                  __atomic_add_fetch(&kept, 1, __ATOMIC_SEQ_CST);
                  break;
                }
            }
            void *realloc(void *block, size_t size) {
              if (!block) return malloc(size);
              size_t old = size_of(block);
              void *moved = malloc(size);
              if (moved) memcpy(moved, block, old < size ? old : size);
              free(block);
              return moved;
            }
            #ifdef TELLS
            size_t malloc_usable_size(void *block) { return block ? size_of(block) : 0; }
            #endif
            __attribute__((destructor)) static void tell(void) {
              char text[64];
              int count = snprintf(text, sizeof text, "%ld %ld %ld", given, released, kept);
              FILE *file = fopen(getenv("COUNTS"), "w");
              fwrite(text, 1, count, file);
              fclose(file);
            }
            """

        /// How many blocks the last run was given, gave back, and gave back with anything in them.
        private func counts() throws -> [Int] {
            let counts = String(decoding: stage["counts"], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
            try #require(counts.count == 3)
            return counts
        }

        @Test(.enabled(if: Compiler.path != nil, "there is no C compiler"))
        func A213_anotherAllocatorGetsItsBlocksBackOverwritten() throws {
            let library = try Compiler.library("#define TELLS\n" + Self.source, in: stage.scratch)
            stage.environment = ["LD_PRELOAD": library, "COUNTS": stage.scratch["counts"]]
            try expectWork()
            let counts = try counts()
            #expect(counts[0] > 1000)
            #expect(counts[1] > 1000)
            // The loader's own blocks may go back past the program.
            #expect(counts[2] < 20, "\(counts)")
        }

        /// One that does not tell how large its blocks are gets them back as they are. (Swift itself asks for sizes:
        /// this is a program in C.)
        @Test(.enabled(if: Compiler.path != nil, "there is no C compiler"))
        func A213_anAllocatorThatTellsNoSizesIsLeftAlone() throws {
            let telling = try Compiler.library("#define TELLS\n" + Self.source, in: stage.scratch)
            #expect(try ErasureTests.kept(preloading: telling, counts: stage.scratch["counts"]) == 0)
            #expect(try counts()[2] == 0)
            let silent = try Compiler.library(Self.source, in: stage.scratch)
            #expect((6...10).contains(try ErasureTests.kept(preloading: silent, counts: stage.scratch["counts"])))
            #expect(try counts()[2] >= 6)
        }
    }
#endif
