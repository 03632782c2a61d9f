/* Operations on memory that threads share, with and without the GIL. With the GIL, code that does
 * not call Python runs alone, so plain operations are enough. */
#ifndef TURBOCQL_THREADS_H
#define TURBOCQL_THREADS_H

#include <Python.h>

#ifdef Py_GIL_DISABLED
#define TURBOCQL_IS_FREE_THREADED 1
#ifdef _MSC_VER
#include <intrin.h>
#define turbocql_exchange(pointer, value) \
    ((int)_InterlockedExchange((volatile long *)(pointer), value))
#define turbocql_load(pointer) ((int)_InterlockedOr((volatile long *)(pointer), 0))
#define turbocql_store(pointer, value) \
    ((void)_InterlockedExchange((volatile long *)(pointer), value))
#define turbocql_load_size(pointer) \
    ((Py_ssize_t)_InterlockedOr64((volatile __int64 *)(pointer), 0))
#define turbocql_store_size(pointer, value) \
    ((void)_InterlockedExchange64((volatile __int64 *)(pointer), value))
#define turbocql_load_pointer(pointer) \
    _InterlockedCompareExchangePointer((void *volatile *)(pointer), NULL, NULL)
#define turbocql_store_pointer(pointer, value) \
    ((void)_InterlockedExchangePointer((void *volatile *)(pointer), value))
#define turbocql_add(pointer, change) \
    ((void)_InterlockedExchangeAdd64((volatile __int64 *)(pointer), change))
#else
#define turbocql_exchange(pointer, value) __atomic_exchange_n(pointer, value, __ATOMIC_SEQ_CST)
#define turbocql_load(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define turbocql_store(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#define turbocql_load_size turbocql_load
#define turbocql_store_size turbocql_store
#define turbocql_load_pointer(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define turbocql_store_pointer(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#define turbocql_add(pointer, change) ((void)__atomic_fetch_add(pointer, change, __ATOMIC_RELAXED))
#endif
#else
#define TURBOCQL_IS_FREE_THREADED 0

static inline int turbocql_exchange(int *pointer, int value) {
    int before = *pointer;
    *pointer = value;
    return before;
}

#define turbocql_load(pointer) (*(pointer))
#define turbocql_store(pointer, value) ((void)(*(pointer) = (value)))
#define turbocql_load_size turbocql_load
#define turbocql_store_size turbocql_store
#define turbocql_load_pointer(pointer) (*(pointer))
#define turbocql_store_pointer(pointer, value) ((void)(*(pointer) = (value)))
#define turbocql_add(pointer, change) ((void)(*(pointer) += (change)))
#endif

/* Makes an object of a module, which is never deallocated, immortal. Each request counts references
 * to such objects. Without the GIL, threads that change the same count wait for each other's
 * caches; the count of an immortal object is not changed. With the GIL, this does nothing. */
static inline void turbocql_share(PyObject *object) {
#ifdef Py_GIL_DISABLED
    /* A count that is too large makes an object immortal if this thread has created it. For an
     * object of another thread, Py_SET_REFCNT would set the count itself. */
    if (_Py_IsOwnedByCurrentThread(object))
        Py_SET_REFCNT(object, PY_SSIZE_T_MAX);
#else
    (void)object;
#endif
}

#endif
