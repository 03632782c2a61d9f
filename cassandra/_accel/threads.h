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
#define turbocql_load(place) ((int)_InterlockedOr((volatile long *)(place), 0))
#define turbocql_store(place, value) ((void)_InterlockedExchange((volatile long *)(place), value))
#define turbocql_load_size(place) ((Py_ssize_t)_InterlockedOr64((volatile __int64 *)(place), 0))
#define turbocql_store_size(place, value) \
    ((void)_InterlockedExchange64((volatile __int64 *)(place), value))
#define turbocql_load_pointer(place) \
    _InterlockedCompareExchangePointer((void *volatile *)(place), NULL, NULL)
#define turbocql_store_pointer(place, value) \
    ((void)_InterlockedExchangePointer((void *volatile *)(place), value))
#define turbocql_add(place, change) \
    ((void)_InterlockedExchangeAdd64((volatile __int64 *)(place), change))
#else
#define turbocql_exchange(place, value) __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST)
#define turbocql_load(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define turbocql_store(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define turbocql_load_size turbocql_load
#define turbocql_store_size turbocql_store
#define turbocql_load_pointer(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define turbocql_store_pointer(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define turbocql_add(place, change) ((void)__atomic_fetch_add(place, change, __ATOMIC_RELAXED))
#endif
#else
#define TURBOCQL_IS_FREE_THREADED 0

static inline int turbocql_exchange(int *place, int value) {
    int before = *place;
    *place = value;
    return before;
}

#define turbocql_load(place) (*(place))
#define turbocql_store(place, value) ((void)(*(place) = (value)))
#define turbocql_load_size turbocql_load
#define turbocql_store_size turbocql_store
#define turbocql_load_pointer(place) (*(place))
#define turbocql_store_pointer(place, value) ((void)(*(place) = (value)))
#define turbocql_add(place, change) ((void)(*(place) += (change)))
#endif

#endif
