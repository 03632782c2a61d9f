# Checks of objects that come from Python code.

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE

# Read a tuple without holding a reference to it; other code must keep the tuple alive. Cython takes
# a reference to each attribute that it passes to a function. Without the GIL, threads that count
# references to the same object wait for each other.
cdef extern from "Python.h":
    Py_ssize_t size_of "PyTuple_GET_SIZE"(PyObject*) noexcept
    PyObject* item_of "PyTuple_GET_ITEM"(PyObject*, Py_ssize_t) noexcept


# Returns `value` if it is bytes. (A parameter declared `bytes` also accepts None, and the macros
# that read a bytes object would then read the memory of None.)
cdef inline bytes exact_bytes(object value, str what):
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")
    return <bytes> value


# Returns the bytes of any object with a buffer. (If `value` is a number n, `bytes(value)` would
# create n zero bytes, which may need all memory.)
cdef inline bytes bytes_of(object value):
    return <bytes> value if isinstance(value, bytes) else bytes(memoryview(value))


# Returns the error of an object that contains addresses or is in use by other objects, so that it
# cannot be copied or pickled. Python itself would raise this error too, but not for a subclass, and
# not in every pickle protocol.
cdef inline object unpicklable(object thing):
    return TypeError(f"cannot pickle or copy {type(thing).__name__!r} object")


# Returns `value` if it is a tuple of two items. (`cdef tuple` also accepts None, and tuples of
# another length, whose items would be read past their end.)
cdef inline tuple exact_pair(object value, str what):
    if not PyTuple_CheckExact(value) or PyTuple_GET_SIZE(value) != 2:
        raise TypeError(
            f"{what} is {value!r} ({type(value).__name__}); it has to be a tuple of two"
        )
    return <tuple> value
