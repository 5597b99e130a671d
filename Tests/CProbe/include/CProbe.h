// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Whether the process runs under valgrind.
int probe_is_watched(void);
/// Tells memcheck that these bytes are secret: from now on a branch or an address that depends on them is an error.
void probe_mark_secret(const void *address, size_t count);
/// Tells memcheck that these bytes may be looked at.
void probe_mark_public(const void *address, size_t count);
/// How many errors memcheck has seen that are not suppressed.
uintptr_t probe_error_count(void);
/// Branches on a byte, in a way the compiler cannot turn into arithmetic.
int probe_branch(const uint8_t *byte);

/// Lets this process have `count` more bytes of writable memory than it has; 0 where that cannot be done.
int probe_limit_memory(size_t count);
/// Where `needle` stands first; NULL if it does not.
const void *probe_find(const void *bytes, size_t count, const void *needle, size_t needle_count);
/// How many bytes of the heap are in use; 0 where nobody counts them.
size_t probe_used_memory(void);

/// A child of this process that has one thread. It must end with `probe_exit`.
pid_t probe_fork(void);
_Noreturn void probe_exit(int code);

/// Starts a program in a session of its own. Descriptors below 0 are closed; `terminal`, if any, becomes the controlling one.
pid_t probe_spawn(
    const char *directory, char *const arguments[], char *const environment[], int input, int output, int error,
    const char *terminal);
