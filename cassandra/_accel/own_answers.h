/* The system calls of a thread that reads the answer to its own request (see `StreamTable` in
 * happy_path_streams.pxi). The bell is an eventfd or a pipe: what is written to it ends a wait. */
#ifndef TURBOCQL_OWN_ANSWERS_H
#define TURBOCQL_OWN_ANSWERS_H

#include <Python.h>

/* Results of turbocql_wait_for_bytes; any other result means that the bell has rung, or that the
 * socket has bytes, an error or its end. */
#define C_TIME_IS_OVER 0
#define C_WAS_INTERRUPTED -1
/* The result of turbocql_receive_now if the socket has no bytes. No errno has this value. */
#define C_NOTHING_THERE PY_SSIZE_T_MIN

#if PY_VERSION_HEX < 0x030C0000
#define TURBOCQL_COLLECTS_IN_ALLOCATIONS 1
#else
#define TURBOCQL_COLLECTS_IN_ALLOCATIONS 0
#endif

#if defined(_WIN32)

static int turbocql_wait_for_bytes(int descriptor, int bell, int milliseconds) { return 0; }
static int turbocql_has_bytes(int descriptor) { return 0; }
static int turbocql_has_ended(int descriptor) { return 0; }
static Py_ssize_t turbocql_receive_now(int descriptor, void *data, Py_ssize_t size) { return 0; }
static int turbocql_open_bell(int *bell) { return 0; }
static void turbocql_ring_bell(int *bell) {}
static void turbocql_silence_bell(int *bell) {}
static void turbocql_close_bell(int *bell) {}

#else

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

/* Waits until `descriptor` is readable or the bell rings. */
static int turbocql_wait_for_bytes(int descriptor, int bell, int milliseconds) {
    struct pollfd watched[2] = {{descriptor, POLLIN, 0}, {bell, POLLIN, 0}};
    int ready = poll(watched, 2, milliseconds);
    /* Any failure but an interruption counts as a time-out: the loop then reads. */
    return ready >= 0 ? ready : errno == EINTR ? C_WAS_INTERRUPTED : C_TIME_IS_OVER;
}

/* Returns whether the socket has bytes, an error or its end. */
static int turbocql_has_bytes(int descriptor) {
    struct pollfd watched = {descriptor, POLLIN, 0};
    return poll(&watched, 1, 0) > 0;
}

/* Returns whether the peer has closed the socket; bytes may be there still. */
static int turbocql_has_ended(int descriptor) {
#if defined(POLLRDHUP)
    struct pollfd watched = {descriptor, POLLRDHUP, 0};
#else
    struct pollfd watched = {descriptor, POLLIN, 0};
#endif
    char first;
    if (poll(&watched, 1, 0) <= 0) return 0;
    if (watched.revents != POLLIN) return 1;
    /* Without POLLRDHUP, the end of the stream is seen only behind the last byte. */
    return recv(descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Returns how many bytes were received, 0 at the end of the stream, or a negative errno. */
static Py_ssize_t turbocql_receive_now(int descriptor, void *data, Py_ssize_t size) {
    Py_ssize_t received = recv(descriptor, data, size, MSG_DONTWAIT);
    if (received >= 0) return received;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? C_NOTHING_THERE : -errno;
}

/* Makes the bell; returns 0 if there are no free descriptors. */
static int turbocql_open_bell(int *bell) {
#if defined(__linux__)
    bell[0] = bell[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return bell[0] >= 0;
#else
    if (pipe(bell) != 0) {
        bell[0] = bell[1] = -1;
        return 0;
    }
    for (int end = 0; end < 2; end++) {
        fcntl(bell[end], F_SETFL, fcntl(bell[end], F_GETFL) | O_NONBLOCK);
        fcntl(bell[end], F_SETFD, FD_CLOEXEC);
    }
    return 1;
#endif
}

static void turbocql_ring_bell(int *bell) {
    uint64_t once = 1;
    /* If the bell is full, it is ringing already. */
    if (write(bell[1], &once, sizeof(once)) < 0) errno = 0;
}

static void turbocql_silence_bell(int *bell) {
    uint64_t rings;
    while (read(bell[0], &rings, sizeof(rings)) > 0) {
    }
}

static void turbocql_close_bell(int *bell) {
    if (bell[0] >= 0) close(bell[0]);
    if (bell[1] >= 0 && bell[1] != bell[0]) close(bell[1]);
    bell[0] = bell[1] = -1;
}

#endif
#endif
