// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CFuzzDriver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { nobody = 65534, argument_limit = 64 };

static char directory[] = "/tmp/tresor-fuzz-XXXXXX";

const char *fuzz_directory(void) {
    if (!mkdtemp(directory)) return NULL;
    if (geteuid() == 0 && chown(directory, nobody, nobody) != 0) return NULL;
    return directory;
}

static void become(const char *program, const uint8_t *arguments, size_t size, int output) {
    static char text[1 << 16];
    static char *words[argument_limit + 2];
    int count = 1;
    words[0] = "tresor";
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, arguments, size);
    for (size_t start = 0; start < size && count <= argument_limit; start += strlen(text + start) + 1)
        words[count++] = text + start;
    char *variables[] = {
        "PATH=/usr/bin:/bin", "TRESOR_HOME=home", "TRESOR_STORE=store.db", "TRESOR_PASSWORD_FILE=password", "TERM=dumb", NULL,
    };
    struct rlimit seconds = {20, 20}, bytes = {1 << 24, 1 << 24};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_FSIZE, &bytes);
    setsid();
    int nothing = open("/dev/null", O_RDONLY);
    if (dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(127);
    for (int descriptor = 3; descriptor < 256; descriptor++) close(descriptor);
    if (chdir(directory) != 0) _exit(127);
    if (geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0)) _exit(127);
    umask(077);
    execve(program, words, variables);
    _exit(127);
}

int fuzz_run(const char *program, const uint8_t *arguments, size_t size, char *output, size_t capacity, size_t *count) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    pid_t child = fork();
    if (child == 0) become(program, arguments, size, ends[1]);
    close(ends[1]);
    *count = 0;
    char rest[4096];
    while (1) {
        int isFull = *count == capacity;
        ssize_t got = isFull ? read(ends[0], rest, sizeof rest) : read(ends[0], output + *count, capacity - *count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (!isFull) *count += (size_t)got;
    }
    close(ends[0]);
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}
