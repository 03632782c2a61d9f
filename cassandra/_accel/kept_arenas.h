/* Keeps the memory of large vectors for the next vectors, instead of giving it back to the system.
 *
 * CPython takes memory for small objects from the system in arenas of 1 MiB (since 3.10), and gives
 * an arena back as soon as no object in it is alive. The floats of a page of vectors fill dozens of
 * arenas. Without this file, a program that reads page after page gives all of them back whenever it
 * drops a page, and the next page takes new ones. The system must clear each of their pages, and on
 * a virtual machine this takes longer than the decoding.
 *
 * One live object is enough to keep an arena. So we hold a reference to one float of each arena that
 * was filled last, at most TURBOCQL_KEPT_ARENAS. The other objects of these arenas are freed as
 * always, and any Python code can use the memory. `turbocql_release_arenas` drops the references
 * when no vectors were decoded for a while.
 *
 * If floats do not come from such arenas (another allocator, or a free-threaded build), we hold
 * nothing, or a few floats that keep no memory. The global interpreter lock protects the table.
 */
#ifndef TURBOCQL_KEPT_ARENAS_H
#define TURBOCQL_KEPT_ARENAS_H

#include <Python.h>
#include <stdint.h>

#define TURBOCQL_ARENA_BITS 20
#define TURBOCQL_KEPT_ARENAS 128
/* Vectors with fewer numbers are not worth the look at the table. */
#define TURBOCQL_LARGE_VECTOR 64

/* The arenas are often adjacent, so the lowest bits of an arena's number choose its place. */
static PyObject *turbocql_kept_floats[TURBOCQL_KEPT_ARENAS];
static int turbocql_arenas_used = 0; /* since the last turbocql_release_arenas */

/* Keeps the arena of a float that was just created. */
static inline void turbocql_keep_arena(PyObject *real) {
    uintptr_t arena = (uintptr_t)real >> TURBOCQL_ARENA_BITS;
    PyObject **place = &turbocql_kept_floats[arena % TURBOCQL_KEPT_ARENAS];
    PyObject *earlier = *place;
    turbocql_arenas_used = 1;
    if (earlier == NULL || (uintptr_t)earlier >> TURBOCQL_ARENA_BITS != arena) {
        Py_INCREF(real);
        *place = real;
        Py_XDECREF(earlier);
    }
}

/* Drops the references. If an arena was used since the last call, does so only if `even_if_used` is
 * set. Returns how many references are held afterwards. */
static inline int turbocql_release_arenas(int even_if_used) {
    int place, held = 0;
    for (place = 0; place < TURBOCQL_KEPT_ARENAS; place++) {
        if (even_if_used || !turbocql_arenas_used)
            Py_CLEAR(turbocql_kept_floats[place]);
        held += turbocql_kept_floats[place] != NULL;
    }
    turbocql_arenas_used = 0;
    return held;
}

#endif
