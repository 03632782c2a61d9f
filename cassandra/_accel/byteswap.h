/* Copies arrays and reverses the bytes of each element, to convert between the machine's byte order
 * and the big-endian order of the protocol.
 *
 * If possible, each loop is compiled twice, with and without AVX2, and the loader chooses one for
 * the processor (target_clones; this needs ifunc: GCC on x86-64 with glibc). On other platforms
 * there is only one version. */
#ifndef TURBOCQL_BYTESWAP_H
#define TURBOCQL_BYTESWAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) \
    && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TURBOCQL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TURBOCQL_CLONES
#endif

/* Suppresses warnings: a module that includes this header does not call all of its functions. */
#if defined(__GNUC__) || defined(__clang__)
#define TURBOCQL_UNUSED __attribute__((unused))
#else
#define TURBOCQL_UNUSED
#endif

#if defined(__GNUC__) || defined(__clang__)
#define turbocql_bswap16 __builtin_bswap16
#define turbocql_bswap32 __builtin_bswap32
#define turbocql_bswap64 __builtin_bswap64
#elif defined(_MSC_VER)
#include <stdlib.h>
#define turbocql_bswap16 _byteswap_ushort
#define turbocql_bswap32 _byteswap_ulong
#define turbocql_bswap64 _byteswap_uint64
#else
static inline uint16_t turbocql_bswap16(uint16_t v) { return (uint16_t)((v >> 8) | (v << 8)); }
static inline uint32_t turbocql_bswap32(uint32_t v) {
    return (v >> 24) | ((v >> 8) & 0xFF00u) | ((v << 8) & 0xFF0000u) | (v << 24);
}
static inline uint64_t turbocql_bswap64(uint64_t v) {
    return ((uint64_t)turbocql_bswap32((uint32_t)v) << 32) | turbocql_bswap32((uint32_t)(v >> 32));
}
#endif

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__) \
    && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TURBOCQL_LITTLE 0
#else
#define TURBOCQL_LITTLE 1
#endif

/* The addresses may be unaligned, so elements are read with memcpy. Compilers turn it into one load
 * or store. */
TURBOCQL_CLONES TURBOCQL_UNUSED static void turbocql_swap16(
    uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint16_t v;
        memcpy(&v, from + 2 * i, 2);
        v = turbocql_bswap16(v);
        memcpy(to + 2 * i, &v, 2);
    }
}

TURBOCQL_CLONES TURBOCQL_UNUSED static void turbocql_swap32(
    uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t v;
        memcpy(&v, from + 4 * i, 4);
        v = turbocql_bswap32(v);
        memcpy(to + 4 * i, &v, 4);
    }
}

TURBOCQL_CLONES TURBOCQL_UNUSED static void turbocql_swap64(
    uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t v;
        memcpy(&v, from + 8 * i, 8);
        v = turbocql_bswap64(v);
        memcpy(to + 8 * i, &v, 8);
    }
}

/* Copies `count` contiguous elements of `width` bytes, and swaps their bytes if `swap` is not 0.
`to`
 * and `from` must not overlap. */
static inline void turbocql_copy(
    uint8_t *to, const uint8_t *from, size_t count, size_t width, int swap) {
    if (count == 0)
        return;
    if (!swap || width == 1)
        memcpy(to, from, count * width);
    else if (width == 2)
        turbocql_swap16(to, from, count);
    else if (width == 4)
        turbocql_swap32(to, from, count);
    else
        turbocql_swap64(to, from, count);
}

/* Copies one element. The addresses may be unaligned. */
static inline void turbocql_copy_one(uint8_t *to, const uint8_t *from, size_t width, int swap) {
    if (!swap) {
        memcpy(to, from, width);
    } else {
        for (size_t i = 0; i < width; i++)
            to[i] = from[width - 1 - i];
    }
}

/* Copies `count` elements, which are `stride` bytes apart in `from` and `gap` bytes apart in `to`.
 * For strided arrays, and for lists, whose elements have lengths between them. */
static inline void turbocql_copy_strided(
    uint8_t *to,
    ptrdiff_t gap,
    const uint8_t *from,
    ptrdiff_t stride,
    size_t count,
    size_t width,
    int swap) {
    size_t i;
    switch (width) {
    case 4:
        for (i = 0; i < count; i++) {
            uint32_t v;
            memcpy(&v, from + (ptrdiff_t)i * stride, 4);
            if (swap)
                v = turbocql_bswap32(v);
            memcpy(to + (ptrdiff_t)i * gap, &v, 4);
        }
        break;
    case 8:
        for (i = 0; i < count; i++) {
            uint64_t v;
            memcpy(&v, from + (ptrdiff_t)i * stride, 8);
            if (swap)
                v = turbocql_bswap64(v);
            memcpy(to + (ptrdiff_t)i * gap, &v, 8);
        }
        break;
    default:
        for (i = 0; i < count; i++)
            turbocql_copy_one(to + (ptrdiff_t)i * gap, from + (ptrdiff_t)i * stride, width, swap);
    }
}

/* Copies `count` adjacent native doubles as big-endian floats. Returns 0 if one is finite and
 * exceeds the range of a float. */
TURBOCQL_CLONES TURBOCQL_UNUSED static int turbocql_narrow_floats(
    uint8_t *to, const uint8_t *from, size_t count) {
    unsigned beyond = 0;
    for (size_t i = 0; i < count; i++) {
        double wide;
        float narrow;
        uint32_t bits;
        memcpy(&wide, from + 8 * i, 8);
        narrow = (float)wide;
        memcpy(&bits, &narrow, 4);
        beyond |= ((bits & 0x7FFFFFFFu) == 0x7F800000u) & (wide - wide == 0.0);
        if (TURBOCQL_LITTLE)
            bits = turbocql_bswap32(bits);
        memcpy(to + 4 * i, &bits, 4);
    }
    return !beyond;
}

/* Copies `count` adjacent native 64-bit integers as big-endian 32-bit integers, `gap` bytes apart.
 * Returns 0 if one does not fit. */
TURBOCQL_UNUSED static int turbocql_narrow_integers(
    uint8_t *to, ptrdiff_t gap, const uint8_t *from, size_t count) {
    uint64_t beyond = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t wide;
        uint32_t bits;
        memcpy(&wide, from + 8 * i, 8);
        beyond |= (uint64_t)(wide ^ (int64_t)(int32_t)wide);
        bits = (uint32_t)wide;
        if (TURBOCQL_LITTLE)
            bits = turbocql_bswap32(bits);
        memcpy(to + (ptrdiff_t)i * gap, &bits, 4);
    }
    return beyond == 0;
}

#endif
