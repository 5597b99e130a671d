// SPDX-License-Identifier: Apache-2.0
#include "Cvariadic.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

int variadic_sqlite3_defend(void *database, int greatest_row) {
  static const struct {
    int setting, value;
  } defences[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
  for (unsigned i = 0; i < sizeof defences / sizeof *defences; i++) {
    int is = -1;
    int code = sqlite3_db_config(database, defences[i].setting, defences[i].value, &is);
    if (code != SQLITE_OK) return code;
    if (is != defences[i].value) return SQLITE_ERROR;
  }
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, greatest_row);
  return SQLITE_OK;
}

void variadic_sqlite3_understand_uris(void) { sqlite3_config(SQLITE_CONFIG_URI, 1); }

int variadic_forbid_dumps(void) {
  // The backtracer of Swift's runtime would read and print this memory on a crash, or wait for it in vain.
  static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
  // A handler of cores that the system pipes them to is not held back by this limit.
  static const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
#ifdef __linux__
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
  return 0;
#endif
}
