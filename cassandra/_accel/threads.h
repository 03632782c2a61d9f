/* What threads share, with and without the GIL. With it, code that calls nothing of Python's runs
 * alone: the plain operations serve. */
#ifndef TURBOCQL_THREADS_H
#define TURBOCQL_THREADS_H

#include <Python.h>

#ifdef Py_GIL_DISABLED
#define TURBOCQL_IS_FREE_THREADED 1
#ifdef _MSC_VER
#include <intrin.h>
#define turbocql_exchange(place, value) ((int)_InterlockedExchange((volatile long *)(place), value))
#define turbocql_add(place, change) \
    ((void)_InterlockedExchangeAdd64((volatile __int64 *)(place), change))
#else
#define turbocql_exchange(place, value) __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL)
#define turbocql_add(place, change) ((void)__atomic_fetch_add(place, change, __ATOMIC_RELAXED))
#endif
#else
#define TURBOCQL_IS_FREE_THREADED 0

static inline int turbocql_exchange(int *place, int value) {
    int before = *place;
    *place = value;
    return before;
}

#define turbocql_add(place, change) ((void)(*(place) += (change)))
#endif

#endif
