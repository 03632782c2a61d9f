/* Checks whether bytes are valid UTF-8, as strictly as Python's decoders (no surrogates, no
 * overlong forms, nothing beyond U+10FFFF). */
#ifndef TURBOCQL_UTF8_H
#define TURBOCQL_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int turbocql_is_ascii(const uint8_t *p, size_t size) {
    uint64_t all = 0, last;
    size_t i = 0;
    if (size >= 8) {
        for (; i + 8 < size; i += 8) {
            uint64_t v;
            memcpy(&v, p + i, 8);
            all |= v;
        }
        memcpy(&last, p + size - 8, 8); /* reads some of them again */
        return ((all | last) & 0x8080808080808080u) == 0;
    }
    for (; i < size; i++)
        all |= p[i];
    return (all & 0x80) == 0;
}

/* See table 3-7 of the Unicode Standard: the range of the second byte depends on the first. */
static inline int turbocql_is_utf8(const uint8_t *p, size_t size) {
    const uint8_t *end = p + size;
    while (p < end) {
        uint8_t first = *p++;
        uint8_t low = 0x80, high = 0xBF;
        int more;
        if (first < 0x80)
            continue;
        if (first < 0xC2 || first > 0xF4)
            return 0;
        if (first < 0xE0) {
            more = 1;
        } else if (first < 0xF0) {
            more = 2;
            if (first == 0xE0)
                low = 0xA0;
            else if (first == 0xED)
                high = 0x9F;
        } else {
            more = 3;
            if (first == 0xF0)
                low = 0x90;
            else if (first == 0xF4)
                high = 0x8F;
        }
        if (end - p < more || *p < low || *p > high)
            return 0;
        for (p++; --more > 0; p++)
            if ((*p & 0xC0) != 0x80)
                return 0;
    }
    return 1;
}

#endif
