# What threads share, with and without the GIL (see threads.h and twins.rst).

from cpython.object cimport PyObject

cdef extern from "threads.h":
    bint IS_FREE_THREADED "TURBOCQL_IS_FREE_THREADED"
    # Put `value` into `place`, and return what stood there: of all threads one gets the first.
    int exchange "turbocql_exchange"(int* place, int value) noexcept nogil
    # A number that one thread stores and others load: who sees it sees what was stored before it.
    int load "turbocql_load"(int* place) noexcept nogil
    void store "turbocql_store"(int* place, int value) noexcept nogil
    Py_ssize_t load_size "turbocql_load_size"(Py_ssize_t* place) noexcept nogil
    void store_size "turbocql_store_size"(Py_ssize_t* place, Py_ssize_t value) noexcept nogil
    PyObject* load_pointer "turbocql_load_pointer"(PyObject** place) noexcept nogil
    void store_pointer "turbocql_store_pointer"(PyObject** place, PyObject* value) noexcept nogil
    # Add to a number of 64 bits that several threads add to.
    void add "turbocql_add"(Py_ssize_t* place, Py_ssize_t change) noexcept nogil
