// SPDX-License-Identifier: Apache-2.0

#include "CBaseline.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

// What getrusage says of a child counts what its parent had before the child's program began.
static long peak_of(pid_t process) {
    char line[256];
    long peak = 0;
    snprintf(line, sizeof line, "/proc/%d/status", (int)process);
    FILE *status = fopen(line, "r");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmHWM: %ld kB", &peak) == 1) break;
    }
    if (status) fclose(status);
    return peak;
}

int baseline_run(char *const *arguments, char *const *environment, long *peak) {
    posix_spawn_file_actions_t actions;
    pid_t child, ended;
    int status;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    int failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        || posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        || posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        || posix_spawn(&child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) return -1;
    while ((ended = waitpid(child, &status, peak ? WNOHANG : 0)) == 0) {
        long now = peak_of(child);
        if (now > *peak) *peak = now;
        usleep(1000);
    }
    return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
