// SPDX-License-Identifier: Apache-2.0
// System calls that take a variable number of arguments, which Swift does not import.
#ifndef CVARIADIC_H
#define CVARIADIC_H

/// Puts a database connection (`sqlite3 *`) into defensive mode: no statement may damage the file or change its schema behind SQLite's back,
/// and no trigger or view runs that somebody has put into it since it was opened. A row of more than
/// `greatest_row` bytes is SQLITE_TOOBIG and is not loaded.
/// Returns SQLite's result code.
int variadic_sqlite3_defend(void *database, int greatest_row);

/// Lets a connection be opened by a URI, which SQLite may be built without. Has an effect only before SQLite is first used.
void variadic_sqlite3_understand_uris(void);

/// Keeps this process from leaving a core file, from printing its memory when it crashes, and from being dumped or attached to where the
/// system can do that.
/// Returns 0, or -1 with `errno` set.
int variadic_forbid_dumps(void);

#endif
