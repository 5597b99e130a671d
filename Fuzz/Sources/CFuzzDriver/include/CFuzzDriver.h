// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own main loop; it comes with `-sanitize=fuzzer`.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*test)(const uint8_t *data, size_t size));

/// A fresh directory, which belongs to nobody if this process is root.
const char *fuzz_directory(void);
/// Runs a program in that directory with arguments that a NUL ends each, as nobody if this process is root, and gives the status of
/// `waitpid`. What it says on both outputs is written to `output`.
int fuzz_run(const char *program, const uint8_t *arguments, size_t size, char *output, size_t capacity, size_t *count);
