// SPDX-License-Identifier: Apache-2.0
// Loaded before libsodium into tests that judge no password: Argon2id takes 8 KiB and one pass at its floor cost, and
// 16 KiB at the cost that a person gets who names none. So each still gives other keys.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int (*function)(unsigned char *, unsigned long long, const char *, unsigned long long, const unsigned char *,
                        unsigned long long, size_t, int);

int crypto_pwhash(unsigned char *out, unsigned long long size, const char *password, unsigned long long count,
                  const unsigned char *salt, unsigned long long passes, size_t memory, int algorithm) {
    function real = (function)dlsym(RTLD_NEXT, "crypto_pwhash");
    if (passes == 3 && memory == 64 << 20) passes = 1, memory = 8 << 10;
    if (passes == 3 && memory == 256 << 20) passes = 1, memory = 16 << 10;
    return real(out, size, password, count, salt, passes, memory, algorithm);
}
