/* Decompresses LZ4 blocks. This runs no Python code and keeps the GIL, because nothing may interrupt a
 * thread that reads its own answer (see own_answers.h). Small blocks, which most answers are, take a
 * fifth of the time of a call of the package lz4. The frame reader calls the package if this refuses
 * a block, so that the package decides what is an error.
 *
 * The format is that of lz4_Block_format.md in the repository of LZ4. */
#ifndef TURBOCQL_LZ4_BLOCK_H
#define TURBOCQL_LZ4_BLOCK_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* What the end of each valid block fulfils (the section "End of block conditions"). */
#define LZ4_LAST_LITERALS 5   /* the block ends with so many literals, at least */
#define LZ4_MATCH_LIMIT 12    /* the last match begins so many bytes before the end, at least */
#define LZ4_LEAST_MATCH 4

/* Adds the bytes that continue a length whose four bits are all set. Returns 0 at the end of the
 * block. */
static int turbocql_lz4_length(const uint8_t **in, const uint8_t *end, size_t *length) {
    uint8_t more;
    if (*length != 15) return 1;
    do {
        if (*in == end) return 0;
        more = *(*in)++;
        *length += more;
    } while (more == 255);
    return 1;
}

/* Copies a match, which begins `offset` bytes before `out` and may overlap it. `room` is the number
 * of bytes that may be written, at least `length`. */
static void turbocql_lz4_copy(uint8_t *out, size_t offset, size_t length, size_t room) {
    const uint8_t *from = out - offset;
    if (offset >= 8 && room - length >= 8) {
        const uint8_t *stop = out + length;
        for (; out < stop; out += 8, from += 8) memcpy(out, from, 8);
        return;
    }
    if (offset >= length) {
        memcpy(out, from, length);
        return;
    }
    if (offset == 1) {
        memset(out, *from, length);
        return;
    }
    /* What was copied so far repeats itself, so each round can copy twice as much. */
    while (length > offset) {
        memcpy(out, from, offset);
        out += offset;
        length -= offset;
        offset *= 2;
    }
    memcpy(out, from, length);
}

/* Decompresses a block to at most `size` bytes; returns their number, or -1 if it is not valid. */
static Py_ssize_t turbocql_lz4_inflate(
    const uint8_t *in, Py_ssize_t compressed_size, uint8_t *out, Py_ssize_t size
) {
    const uint8_t *end = in + compressed_size;
    const uint8_t *first = out;
    const uint8_t *limit = out + size;
    while (in < end) {
        unsigned token = *in++;
        size_t literals = token >> 4;
        size_t length = token & 15;
        size_t offset;
        if (!turbocql_lz4_length(&in, end, &literals)) return -1;
        if (literals > (size_t)(end - in) || literals > (size_t)(limit - out)) return -1;
        /* A copy of constant size is one instruction. What it copies too much is overwritten. */
        if (literals <= 16 && end - in >= 16 && limit - out >= 16)
            memcpy(out, in, 16);
        else
            memcpy(out, in, literals);
        in += literals;
        out += literals;
        if (in == end) return out - first; /* the last sequence has no match */
        if (end - in < 2 + 1 + LZ4_LAST_LITERALS || limit - out < LZ4_MATCH_LIMIT) return -1;
        offset = in[0] | (size_t)in[1] << 8;
        in += 2;
        if (!turbocql_lz4_length(&in, end, &length)) return -1;
        length += LZ4_LEAST_MATCH;
        if (offset == 0 || offset > (size_t)(out - first)) return -1;
        if (length > (size_t)(limit - out) || (size_t)(limit - out) - length < LZ4_LAST_LITERALS)
            return -1;
        turbocql_lz4_copy(out, offset, length, (size_t)(limit - out));
        out += length;
    }
    return -1;
}

#endif
