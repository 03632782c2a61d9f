# Operations on memory that threads share, with and without the GIL (see threads.h and twins.rst).

from cpython.object cimport PyObject

cdef extern from "threads.h":
    bint IS_FREE_THREADED "TURBOCQL_IS_FREE_THREADED"
    # Stores `value` and returns the previous value, atomically: if several threads call this, only
    # one of them gets the value that was there before.
    int exchange "turbocql_exchange"(int* pointer, int value) noexcept nogil
    # Loads a value that another thread stores with `store`. A thread that loads the new value also
    # sees everything that the other thread wrote before it.
    int load "turbocql_load"(int* pointer) noexcept nogil
    void store "turbocql_store"(int* pointer, int value) noexcept nogil
    Py_ssize_t load_size "turbocql_load_size"(Py_ssize_t* pointer) noexcept nogil
    void store_size "turbocql_store_size"(Py_ssize_t* pointer, Py_ssize_t value) noexcept nogil
    PyObject* load_pointer "turbocql_load_pointer"(PyObject** pointer) noexcept nogil
    void store_pointer "turbocql_store_pointer"(PyObject** pointer, PyObject* value) noexcept nogil
    # Adds to a 64-bit number that other threads may add to at the same time.
    void add "turbocql_add"(Py_ssize_t* pointer, Py_ssize_t change) noexcept nogil
    # Makes an object that is never deallocated immortal, so that threads which use it at the same
    # time do not wait for each other. With the GIL, this does nothing.
    void share "turbocql_share"(object value)
