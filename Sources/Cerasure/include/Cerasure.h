// SPDX-License-Identifier: Apache-2.0
// Linked into the program, this target takes the place of glibc's `free` and `realloc` for the whole process: blocks are overwritten before
// they are given back. It has nothing to call.
#ifndef CERASURE_H
#define CERASURE_H
#endif
