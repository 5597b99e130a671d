// SPDX-License-Identifier: Apache-2.0
#include "Cvariadic.h"

#include <sqlite3.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

int variadic_sqlite3_defend(void *database) {
  int is_on = 0;
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, &is_on);
  return code == SQLITE_OK && !is_on ? SQLITE_ERROR : code;
}

int variadic_forbid_dumps(void) {
#ifdef __linux__
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
  return 0;
#endif
}
