// SPDX-License-Identifier: Apache-2.0
// Loaded before libsodium into tests that judge no password: at its floor cost Argon2id takes 8 KiB and one pass.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int (*function)(unsigned char *, unsigned long long, const char *, unsigned long long, const unsigned char *,
                        unsigned long long, size_t, int);

int crypto_pwhash(unsigned char *out, unsigned long long size, const char *password, unsigned long long count,
                  const unsigned char *salt, unsigned long long passes, size_t memory, int algorithm) {
    function real = (function)dlsym(RTLD_NEXT, "crypto_pwhash");
    if (passes == 3 && memory == 64 << 20) passes = 1, memory = 8 << 10;
    return real(out, size, password, count, salt, passes, memory, algorithm);
}
