// SPDX-License-Identifier: Apache-2.0

#include "CWire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_from(uint32_t source, int port) {
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in near = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    if (descriptor < 0) return -1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if ((source && bind(descriptor, (struct sockaddr *)&near, sizeof near))
        || connect(descriptor, (struct sockaddr *)&far, sizeof far)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

int wire_connect(int port) { return connect_from(0, port); }

int wire_open(uint32_t source, int port, const void *bytes, size_t count) {
    int descriptor = connect_from(source, port);
    if (descriptor >= 0 && send(descriptor, bytes, count, MSG_NOSIGNAL) == (ssize_t)count) return descriptor;
    if (descriptor >= 0) close(descriptor);
    return -1;
}

// The value of Content-Length, or -1.
static long length_of(const char *head) {
    for (const char *line = head; (line = strstr(line, "\r\n")); line += 2) {
        if (strncasecmp(line + 2, "content-length:", 15) == 0) return atol(line + 17);
    }
    return -1;
}

int wire_exchange(int descriptor, const void *request, size_t request_count, void *body, size_t *count) {
    char bytes[16384];
    size_t have = 0;
    if (send(descriptor, request, request_count, MSG_NOSIGNAL) != (ssize_t)request_count) return -1;
    while (have < sizeof bytes - 1) {
        ssize_t more = recv(descriptor, bytes + have, sizeof bytes - 1 - have, 0);
        if (more <= 0) return -1;
        have += more;
        bytes[have] = 0;
        char *end = strstr(bytes, "\r\n\r\n");
        if (!end) continue;
        long length = length_of(bytes);
        size_t start = end + 4 - bytes;
        if (length < 0 || (size_t)length > *count || strncmp(bytes, "HTTP/1.1 ", 9) != 0) return -1;
        memcpy(body, bytes + start, have - start < (size_t)length ? have - start : (size_t)length);
        for (size_t got = have - start; got < (size_t)length; got += more) {
            more = recv(descriptor, (char *)body + got, length - got, 0);
            if (more <= 0) return -1;
        }
        *count = length;
        return atoi(bytes + 9);
    }
    return -1;
}

struct waiting {
    int descriptor;
    SSL *tls;
};

static SSL_CTX *context;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_context(void) {
    context = SSL_CTX_new(TLS_client_method());
    if (!context) return;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

void *wire_open_waiting(uint32_t source, int port, const void *request, size_t request_count) {
    pthread_once(&once, make_context);
    struct waiting *made = calloc(1, sizeof *made);
    if (!context || !made) return NULL;
    made->descriptor = connect_from(source, port);
    made->tls = made->descriptor < 0 ? NULL : SSL_new(context);
    if (made->tls && SSL_set_fd(made->tls, made->descriptor) == 1 && SSL_connect(made->tls) == 1
        && SSL_write(made->tls, request, (int)request_count) == (int)request_count) {
        fcntl(made->descriptor, F_SETFL, O_NONBLOCK);
        return made;
    }
    wire_close(made);
    return NULL;
}

int wire_is_waiting(void *connection) {
    struct waiting *waiting = connection;
    char byte;
    int result = SSL_peek(waiting->tls, &byte, 1);
    return result <= 0 && SSL_get_error(waiting->tls, result) == SSL_ERROR_WANT_READ;
}

void wire_close(void *connection) {
    struct waiting *waiting = connection;
    if (waiting->tls) SSL_free(waiting->tls);
    if (waiting->descriptor >= 0) close(waiting->descriptor);
    free(waiting);
}

int wire_allow_files(size_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return -1;
    if (limit.rlim_cur >= count) return 0;
    limit.rlim_cur = count;
    if (limit.rlim_max < count) limit.rlim_max = count;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int wire_lock(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX) == 0) return descriptor;
    if (descriptor >= 0) close(descriptor);
    return -1;
}
