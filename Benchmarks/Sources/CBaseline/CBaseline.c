// SPDX-License-Identifier: Apache-2.0

#include "CBaseline.h"

#include <sodium.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static unsigned char key[32];
static _Thread_local unsigned char text[65536 + 512];

int baseline_seal(size_t rounds, size_t context, size_t count) {
    unsigned char *sealed = malloc(56 + count + 16);
    unsigned char okm[64];
    unsigned char nonce[12] = {0};
    int status = sodium_init() < 0 || sealed == NULL ? -1 : 0;
    nonce[11] = 1;
    for (size_t round = 0; round < rounds && status == 0; round++) {
        randombytes_buf(sealed, 24);
        memcpy(text, sealed, 24);
        status |= crypto_generichash(okm, 64, text, context, key, 32);
        memcpy(sealed + 24, okm + 32, 32);
        status |= crypto_aead_chacha20poly1305_ietf_encrypt(sealed + 56, NULL, text, count, NULL, 0, NULL, nonce, okm);
        sodium_memzero(okm, 64);
    }
    free(sealed);
    return status;
}

int baseline_open(size_t rounds, size_t context, size_t count) {
    unsigned char *sealed = malloc(count + 16);
    unsigned char *opened = malloc(count + 1);
    unsigned char okm[64];
    unsigned char nonce[12] = {0};
    int status = sodium_init() < 0 || sealed == NULL || opened == NULL ? -1 : 0;
    nonce[11] = 1;
    memset(text, 0, 24);
    if (status == 0) {
        status |= crypto_generichash(okm, 64, text, context, key, 32);
        status |= crypto_aead_chacha20poly1305_ietf_encrypt(sealed, NULL, text, count, NULL, 0, NULL, nonce, okm);
    }
    for (size_t round = 0; round < rounds && status == 0; round++) {
        unsigned char again[64];
        status |= crypto_generichash(again, 64, text, context, key, 32);
        status |= sodium_memcmp(again + 32, okm + 32, 32);
        status |= crypto_aead_chacha20poly1305_ietf_decrypt(opened, NULL, NULL, sealed, count + 16, NULL, 0, nonce, again);
        sodium_memzero(again, 64);
    }
    free(sealed);
    free(opened);
    return status;
}

static int content_hash(unsigned char hash[64], size_t count) {
    unsigned char digest[32];
    int status = crypto_generichash(digest, 32, text, count + 38, NULL, 0);
    memcpy(text, digest, 32);
    return status | crypto_generichash(hash, 64, text, 68, NULL, 0);
}

int baseline_hash_and_sign(size_t rounds, size_t count, size_t message) {
    unsigned char public_key[32], secret_key[64], hash[64], signature[64];
    int status = sodium_init() < 0 ? -1 : crypto_sign_keypair(public_key, secret_key);
    for (size_t round = 0; round < rounds && status == 0; round++) {
        status |= content_hash(hash, count);
        status |= crypto_sign_detached(signature, NULL, text, message, secret_key);
    }
    return status;
}

int baseline_hash_and_verify(size_t rounds, size_t count, size_t message) {
    unsigned char public_key[32], secret_key[64], hash[64], signature[64];
    int status = sodium_init() < 0 ? -1 : crypto_sign_keypair(public_key, secret_key);
    status |= content_hash(hash, count);
    status |= crypto_sign_detached(signature, NULL, text + 64, message, secret_key);
    for (size_t round = 0; round < rounds && status == 0; round++) {
        status |= content_hash(hash, count);
        status |= crypto_sign_verify_detached(signature, text + 64, message, public_key);
    }
    return status;
}

int baseline_verify(size_t rounds, size_t message) {
    unsigned char public_key[32], secret_key[64], signature[64];
    unsigned char *bytes = calloc(message, 1);
    int status = sodium_init() < 0 || bytes == NULL ? -1 : crypto_sign_keypair(public_key, secret_key);
    if (status == 0) status = crypto_sign_detached(signature, NULL, bytes, message, secret_key);
    for (size_t round = 0; round < rounds && status == 0; round++) {
        status |= crypto_sign_verify_detached(signature, bytes, message, public_key);
    }
    free(bytes);
    return status;
}

int baseline_hash(size_t rounds, size_t count) {
    unsigned char hash[32];
    int status = sodium_init() < 0 ? -1 : 0;
    for (size_t round = 0; round < rounds && status == 0; round++) {
        status |= crypto_generichash(hash, 32, text, count, NULL, 0);
    }
    return status;
}

int baseline_argon2id(size_t memory, size_t passes) {
    unsigned char derived[32];
    unsigned char salt[16] = {0};
    if (sodium_init() < 0) return -1;
    return crypto_pwhash(derived, 32, "a password", 10, salt, passes, memory, crypto_pwhash_ALG_ARGON2ID13);
}

int baseline_multiply(size_t rounds) {
    unsigned char element[32], scalar[32];
    if (sodium_init() < 0) return -1;
    crypto_core_ristretto255_random(element);
    int status = 0;
    for (size_t round = 0; round < rounds && status == 0; round++) {
        crypto_core_ristretto255_scalar_random(scalar);
        status |= crypto_scalarmult_ristretto255(element, scalar, element);
    }
    return status;
}

static const char *const statements[] = {
    "BEGIN IMMEDIATE",
    "INSERT INTO limits VALUES (?1, ?2) ON CONFLICT (bucket) DO UPDATE SET filled = filled + 1",
    "INSERT INTO attempts VALUES (?1, zeroblob(32), 1, zeroblob(64), zeroblob(32), ?2)",
    "COMMIT",
    "DELETE FROM attempts WHERE attempt = ?1",
    "UPDATE limits SET filled = filled - 1 WHERE bucket = ?1",
};
enum { begin, take, attempt, commit, end, give, statement_count };

static sqlite3_stmt *prepared[statement_count];

static int transactions_open(const char *path) {
    sqlite3 *database;
    if (sqlite3_open(path, &database) != SQLITE_OK) return -1;
    const char *schema = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                         "CREATE TABLE limits (bucket BLOB PRIMARY KEY, filled INTEGER) WITHOUT ROWID;"
                         "CREATE INDEX limits_by_time ON limits (filled);"
                         "CREATE TABLE attempts (attempt BLOB PRIMARY KEY, account BLOB, revision INTEGER,"
                         " expected BLOB, source BLOB, time INTEGER) WITHOUT ROWID;"
                         "CREATE INDEX attempts_by_account ON attempts (account);"
                         "CREATE INDEX attempts_by_time ON attempts (time);";
    if (sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK) return -1;
    for (int index = 0; index < statement_count; index++) {
        if (sqlite3_prepare_v2(database, statements[index], -1, &prepared[index], NULL) != SQLITE_OK) return -1;
    }
    return 0;
}

static int step(int index, const unsigned char *key, int count) {
    sqlite3_stmt *statement = prepared[index];
    int values = sqlite3_bind_parameter_count(statement);
    if (values > 0) sqlite3_bind_blob(statement, 1, key, count, SQLITE_STATIC);
    if (values > 1) sqlite3_bind_int64(statement, 2, 1777730400);
    int status = sqlite3_step(statement) == SQLITE_DONE ? 0 : -1;
    sqlite3_reset(statement);
    return status;
}

int baseline_transactions(const char *path) {
    unsigned char id[16], buckets[3][32] = {{1}, {2}, {3}};
    if (sodium_init() < 0 || (prepared[0] == NULL && transactions_open(path) != 0)) return -1;
    randombytes_buf(id, sizeof id);
    int status = step(begin, NULL, 0);
    for (int index = 0; index < 3; index++) status |= step(take, buckets[index], 32);
    status |= step(attempt, id, 16) | step(commit, NULL, 0) | step(begin, NULL, 0) | step(end, id, 16);
    for (int index = 0; index < 3; index++) status |= step(give, buckets[index], 32);
    return status | step(commit, NULL, 0);
}
