/* A server that answers at once: each request gets the response of the first rule that matches. A rule matches if it has the request's
 * opcode, and if its needle (a byte string) occurs in the request's body. An empty needle matches every body.
 *
 *     null_server SCRIPT ADDRESS PORT [TOGETHER]
 *
 * SCRIPT is a file of rules: request opcode (1 byte), needle length (4 bytes, big-endian), needle, answer opcode (1), answer flags (1),
 * answer length (4), answer body. Frames are those of protocol versions 3 and 4: version, flags, stream (2), opcode, length (4).
 * Bodies of requests may be compressed by LZ4; the server sends an answer's body as the script has it.
 * The server collects TOGETHER answers to EXECUTE (1 by default) and sends them in one write. The number of answers that a client reads
 * at once does then not depend on the speed of the two processes. A client with fewer requests in flight gets no answer.
 * It has one thread and uses epoll. It prints "ready" when it listens, and ends when its standard input is closed. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER = 9, MAX_RULES = 64, MAX_BODY = 64 << 20, COMPRESSED = 1, EXECUTE = 0x0A };

struct rule {
    uint8_t request, answer, flags;
    uint32_t needle_size, body_size;
    const uint8_t *needle, *body;
};

struct connection {
    int fd;
    uint8_t *in, *out;
    size_t in_size, in_capacity, out_size, out_capacity, out_sent;
    int waiting; /* answers to EXECUTE that have not been sent yet; `together` if they must be sent now */
};

static struct rule rules[MAX_RULES];
static int rule_count, together = 1;

static uint32_t be32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Return `block`, reallocated if its capacity is less than `wanted` bytes. */
static void *grown(void *block, size_t *capacity, size_t wanted) {
    if (wanted <= *capacity) return block;
    *capacity = wanted * 2;
    block = realloc(block, *capacity);
    if (!block) fail("realloc");
    return block;
}

static void read_script(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size);
    if (!data || fread(data, 1, size, file) != (size_t)size) fail(path);
    fclose(file);
    for (const uint8_t *p = data, *end = data + size; p < end && rule_count < MAX_RULES; rule_count++) {
        struct rule *rule = &rules[rule_count];
        rule->request = *p++;
        rule->needle_size = be32(p), p += 4;
        rule->needle = p, p += rule->needle_size;
        rule->answer = *p++;
        rule->flags = *p++;
        rule->body_size = be32(p), p += 4;
        rule->body = p, p += rule->body_size;
    }
}

static const struct rule *find_rule(uint8_t opcode, const uint8_t *body, size_t size) {
    for (int i = 0; i < rule_count; i++)
        if (rules[i].request == opcode &&
            (!rules[i].needle_size || memmem(body, size, rules[i].needle, rules[i].needle_size)))
            return &rules[i];
    return NULL;
}

/* Decompress a body: the length of the result (4 bytes, big-endian), then an LZ4 block. Return this length, or 0 if the body is damaged. */
static size_t inflated(const uint8_t *in, size_t in_size, uint8_t *out, size_t room) {
    const uint8_t *end = in + in_size;
    if (in_size < 4 || be32(in) > room) return 0;
    room = be32(in), in += 4;
    size_t made = 0;
    while (in < end) {
        uint8_t token = *in++, more = 255;
        size_t literals = token >> 4, match = token & 15;
        if (literals == 15)
            while (more == 255 && in < end) literals += more = *in++;
        if ((size_t)(end - in) < literals || room - made < literals) return 0;
        memcpy(out + made, in, literals), in += literals, made += literals;
        if (end - in < 2) break; /* the last sequence has only literals, and no match */
        size_t back = in[0] | in[1] << 8;
        in += 2, more = 255;
        if (match == 15)
            while (more == 255 && in < end) match += more = *in++;
        match += 4;
        if (!back || back > made || room - made < match) return 0;
        for (; match; match--, made++) out[made] = out[made - back];
    }
    return made;
}

/* Append the answer to one request to the connection's output. */
static void answer(struct connection *c, const uint8_t *head, const uint8_t *body, uint32_t size) {
    static const uint8_t no_rule[] = {0, 0, 0, 0, 0, 7, 'n', 'o', ' ', 'r', 'u', 'l', 'e'};
    static uint8_t plain[MAX_BODY];
    if (head[1] & COMPRESSED) size = inflated(body, size, plain, sizeof plain), body = plain;
    const struct rule *rule = find_rule(head[4], body, size);
    uint32_t length = rule ? rule->body_size : sizeof no_rule;
    c->out = grown(c->out, &c->out_capacity, c->out_size + HEADER + length);
    uint8_t *p = c->out + c->out_size;
    p[0] = head[0] | 0x80, p[1] = rule ? rule->flags : 0, p[2] = head[2], p[3] = head[3], p[4] = rule ? rule->answer : 0;
    p[5] = length >> 24, p[6] = length >> 16, p[7] = length >> 8, p[8] = length;
    memcpy(p + HEADER, rule ? rule->body : no_rule, length);
    c->out_size += HEADER + length;
    c->waiting = head[4] == EXECUTE ? c->waiting + 1 : together;
}

/* Send as much of the output as the socket takes. Return 0 if the connection must be closed, else 1. */
static int flush(struct connection *c, int poller) {
    while (c->out_sent < c->out_size) {
        ssize_t sent = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent <= 0) return 0;
        c->out_sent += sent;
    }
    int all = c->out_sent == c->out_size;
    if (all) c->out_sent = c->out_size = 0;
    struct epoll_event event = {.events = all ? EPOLLIN : EPOLLIN | EPOLLOUT, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    return 1;
}

/* Read from the connection, and answer all complete requests. Return 0 if the connection must be closed, else 1. */
static int serve(struct connection *c, int poller) {
    c->in = grown(c->in, &c->in_capacity, c->in_size + (256 << 10));
    ssize_t got = recv(c->fd, c->in + c->in_size, c->in_capacity - c->in_size, 0);
    if (got < 0 && errno == EAGAIN) return flush(c, poller); /* epoll reported that the socket takes output again */
    if (got <= 0) return 0;
    c->in_size += got;
    size_t at = 0;
    while (c->in_size - at >= HEADER) {
        uint32_t length = be32(c->in + at + 5);
        if (length > MAX_BODY) return 0;
        if (c->in_size - at < HEADER + length) break;
        answer(c, c->in + at, c->in + at + HEADER, length);
        at += HEADER + length;
    }
    memmove(c->in, c->in + at, c->in_size - at);
    c->in_size -= at;
    if (c->waiting < together) return 1;
    c->waiting = 0;
    return flush(c, poller);
}

int main(int argc, char **argv) {
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: null_server SCRIPT ADDRESS PORT [TOGETHER]\n");
        return 2;
    }
    if (argc == 5) together = atoi(argv[4]);
    read_script(argv[1]);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
    inet_pton(AF_INET, argv[2], &address.sin_addr);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) fail("listen");
    int poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = &rule_count; /* an address that is no connection means an event of standard input */
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &event);
    puts("ready");
    fflush(stdout);
    for (struct epoll_event events[64];;) {
        int count = epoll_wait(poller, events, 64, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &rule_count) return 0;
            if (!events[i].data.ptr) {
                struct connection *fresh = calloc(1, sizeof *fresh);
                fresh->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                setsockopt(fresh->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                event = (struct epoll_event){.events = EPOLLIN, .data.ptr = fresh};
                epoll_ctl(poller, EPOLL_CTL_ADD, fresh->fd, &event);
                continue;
            }
            struct connection *c = events[i].data.ptr;
            if (!serve(c, poller)) {
                close(c->fd);
                free(c->in), free(c->out), free(c);
            }
        }
    }
}
