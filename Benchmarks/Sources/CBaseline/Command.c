// SPDX-License-Identifier: Apache-2.0

#include "CBaseline.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

int baseline_run(char *const *arguments, char *const *environment, long *peak) {
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t child;
    int status;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    int failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        || posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        || posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        || posix_spawn(&child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failure || wait4(child, &status, 0, &usage) != child) return -1;
    *peak = usage.ru_maxrss;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
