// SPDX-License-Identifier: Apache-2.0
#include "Cerasure.h"

#include <stdlib.h>

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif

// A sanitizer brings an allocator of its own.
#if defined(__GLIBC__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

#include <malloc.h>
#include <string.h>

void __libc_free(void *block);

// glibc's own M_PERTURB leaves blocks of up to 1 KiB as they are, because they go to the cache of the thread first.
void free(void *block) {
  if (!block) return;
  explicit_bzero(block, malloc_usable_size(block));
  __libc_free(block);
}

// glibc's moves a block without the `free` above. A block that still fits stays where it is.
void *realloc(void *block, size_t size) {
  if (!block) return malloc(size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  size_t usable = malloc_usable_size(block);
  if (size <= usable && size >= usable / 2) return block;
  void *moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, block, size < usable ? size : usable);
  free(block);
  return moved;
}

#endif
