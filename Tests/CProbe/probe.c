// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CProbe.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

// Client requests of valgrind: a sequence of rotations that does nothing on a real processor (valgrind.h states it as an interface).
static uintptr_t request(
    uintptr_t otherwise, uintptr_t code, uintptr_t first, uintptr_t second) {
    volatile uintptr_t arguments[6] = {code, first, second, 0, 0, 0};
    volatile uintptr_t result = otherwise;
#if defined(__x86_64__)
    uintptr_t value = otherwise;
    __asm__ volatile(
        "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
        : "=d"(value)
        : "a"(&arguments[0]), "0"(otherwise)
        : "cc", "memory");
    result = value;
#endif
    return result;
}

enum { base = 0x1000, memcheck = ('M' << 24) | ('C' << 16) };

int probe_is_watched(void) { return request(0, base + 1, 0, 0) != 0; }

void probe_mark_secret(const void *address, size_t count) { request(0, memcheck + 1, (uintptr_t)address, count); }

void probe_mark_public(const void *address, size_t count) { request(0, memcheck + 2, (uintptr_t)address, count); }

uintptr_t probe_error_count(void) { return request(0, 0x1201, 0, 0); }

int probe_branch(const uint8_t *byte) {
    volatile int result = 0;
    if (*byte & 1) result = 1;
    else result = 2;
    return result;
}

#if defined(__linux__)
int probe_limit_memory(size_t count) {
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return 0;
    char line[256];
    unsigned long present = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmData: %lu", &present) == 1) break;
    fclose(file);
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = present * 1024 + count;
    return present > 0 && setrlimit(RLIMIT_DATA, &limit) == 0;
}
#else
int probe_limit_memory(size_t count) { (void)count; return 0; }
#endif

const void *probe_find(const void *bytes, size_t count, const void *needle, size_t needle_count) {
    return memmem(bytes, count, needle, needle_count);
}

size_t probe_used_memory(void) {
#if defined(__GLIBC__)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

pid_t probe_fork(void) { return fork(); }

void probe_exit(int code) { _exit(code); }

static void place(int descriptor, int target) {
    if (descriptor < 0) close(target);
    else if (dup2(descriptor, target) < 0) _exit(126);
}

pid_t probe_spawn(
    const char *directory, char *const arguments[], char *const environment[], int input, int output, int error,
    const char *terminal) {
    pid_t child = fork();
    if (child != 0) return child;
    setsid();
    // Signals that the tests block or ignore are not blocked or ignored in the program.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    if (terminal) {
        int opened = open(terminal, O_RDWR);
        if (opened < 0 || ioctl(opened, TIOCSCTTY, 0) < 0) _exit(126);
        close(opened);
    }
    int given[3] = {input, output, error}, descriptor = 3;
    // Above what they are moved to, so that none is overwritten before its turn.
    for (int index = 0; index < 3; index++)
        if (given[index] >= 0) given[index] = fcntl(given[index], F_DUPFD, 16);
    for (int index = 0; index < 3; index++) place(given[index], index);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3, ~0U, 0) == 0) descriptor = 1024;
#endif
    for (; descriptor < 1024; descriptor++) close(descriptor);
    if (chdir(directory) < 0) _exit(126);
    execve(arguments[0], arguments, environment);
    _exit(127);
}
