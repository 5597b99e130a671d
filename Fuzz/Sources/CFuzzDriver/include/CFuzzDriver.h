// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own main loop; it comes with `-sanitize=fuzzer`.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*test)(const uint8_t *data, size_t size));
