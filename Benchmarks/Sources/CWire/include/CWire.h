// SPDX-License-Identifier: Apache-2.0

#ifndef CWIRE_H
#define CWIRE_H

#include <stddef.h>
#include <stdint.h>

// Connects to a port of loopback. Returns a descriptor, or -1.
int wire_connect(int port);

// Connects to a port of loopback from another address of loopback, or from any for 0, and sends bytes. Returns a descriptor, or -1.
int wire_open(uint32_t source, int port, const void *bytes, size_t count);

// Sends a request of HTTP/1.1 and reads its answer. Returns the status, or -1; the body goes to `body`, its size to `count`, which holds the room before.
int wire_exchange(int descriptor, const void *request, size_t request_count, void *body, size_t *count);

// Connects to a port of loopback from another address of loopback, over TLS 1.3 without looking at the certificate, and sends a request. Returns a handle, or NULL.
void *wire_open_waiting(uint32_t source, int port, const void *request, size_t request_count);

// Whether the server has neither answered nor gone.
int wire_is_waiting(void *connection);

void wire_close(void *connection);

// Allows this process, and those that it starts, `count` open files. Returns 0, or -1.
int wire_allow_files(size_t count);

// Opens and locks a file for this process alone, and waits until nobody else has it. Returns a descriptor, or -1. The lock ends when it is closed.
int wire_lock(const char *path);

#endif
