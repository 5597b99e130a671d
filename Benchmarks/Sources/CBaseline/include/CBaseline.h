// SPDX-License-Identifier: Apache-2.0

#ifndef CBASELINE_H
#define CBASELINE_H

#include <stddef.h>
#include <stdint.h>

// The plain libsodium calls that the work under measurement consists of, `rounds` times. Each returns 0, or -1 when a call fails.

// Salt, keyed BLAKE2b-512 over `context` bytes, ChaCha20-Poly1305 over `count` bytes (at most 65 536).
int baseline_seal(size_t rounds, size_t context, size_t count);
int baseline_open(size_t rounds, size_t context, size_t count);
// Two BLAKE2b hashes of a content of `count` bytes and an Ed25519 signature of `message` bytes; and the same verified.
int baseline_hash_and_sign(size_t rounds, size_t count, size_t message);
int baseline_hash_and_verify(size_t rounds, size_t count, size_t message);
int baseline_verify(size_t rounds, size_t message);
int baseline_hash(size_t rounds, size_t count);
int baseline_argon2id(size_t memory, size_t passes);
// Multiplications of ristretto255, each by another scalar.
int baseline_multiply(size_t rounds);
// The two transactions of a log-in that write, in an SQLite file that stays open: one takes from three limits and notes an
// attempt, the other one deletes the attempt and gives back.
int baseline_transactions(const char *path);

// Runs a program without input and output. Returns its exit code, or -1; the most memory it had, in KiB, goes to `peak`, which may be NULL.
int baseline_run(char *const *arguments, char *const *environment, long *peak);

#endif
