// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Cerasure.h"

#include <stdlib.h>

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif

// A sanitizer brings an allocator of its own.
#if defined(__GLIBC__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

void __libc_free(void *block);
void *__libc_realloc(void *block, size_t size);

// The allocator behind this one: glibc's, or one that was loaded before it.
struct allocator {
  void (*free)(void *);
  void *(*realloc)(void *, size_t);
  // The usable size of a block. NULL where the allocator does not tell: nothing can be overwritten then.
  size_t (*size)(void *);
};

static struct allocator next;
static int is_known;
static __thread int is_looking;

static int same_library(void *one, void *other) {
  Dl_info first, second;
  return one && other && dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

// Returns 0 inside of its own look-up. Threads that look at the same time find and write the same.
static int find_next(void) {
  if (__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) return 1;
  if (is_looking) return 0;
  is_looking = 1;
  void *release = dlsym(RTLD_NEXT, "free"), *move = dlsym(RTLD_NEXT, "realloc");
  void *size = dlsym(RTLD_NEXT, "malloc_usable_size");
  struct allocator found = {__libc_free, __libc_realloc, malloc_usable_size};
  if (release && move) {
    found.free = (void (*)(void *))release;
    found.realloc = (void *(*)(void *, size_t))move;
    found.size = same_library(release, size) ? (size_t (*)(void *))size : NULL;
  }
  next = found;
  is_looking = 0;
  __atomic_store_n(&is_known, 1, __ATOMIC_RELEASE);
  return 1;
}

// glibc's own M_PERTURB leaves blocks of up to 1 KiB as they are, because they go to the cache of the thread first.
void free(void *block) {
  // Memory that the look-up itself gives back stays where it is.
  if (!block || !find_next()) return;
  if (next.size) explicit_bzero(block, next.size(block));
  next.free(block);
}

// glibc's moves a block without the `free` above. A block that still fits stays where it is.
void *realloc(void *block, size_t size) {
  if (!block) return malloc(size);
  if (!find_next()) return NULL;
  if (!next.size) return next.realloc(block, size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  size_t usable = next.size(block);
  if (size <= usable && size >= usable / 2) return block;
  void *moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, block, size < usable ? size : usable);
  free(block);
  return moved;
}

#endif
