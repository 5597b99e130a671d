// SPDX-License-Identifier: Apache-2.0
// Linked into the program, this target takes the place of `free` and `realloc` for the whole process: blocks are overwritten before they are
// given back to the allocator that they came from. It has nothing to call.
#ifndef CERASURE_H
#define CERASURE_H
#endif
