# What a parameter declared `bytes` does not refuse: None. The macros that read a bytes object would
# read whatever None is.

from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE


cdef inline bytes exact_bytes(object value, str what):
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")
    return <bytes> value


# What `cdef tuple` does not refuse: None, and tuples of another length, whose items would be read
# past their end.
cdef inline tuple exact_pair(object value, str what):
    if not PyTuple_CheckExact(value) or PyTuple_GET_SIZE(value) != 2:
        raise TypeError(
            f"{what} is {value!r} ({type(value).__name__}); it has to be a tuple of two"
        )
    return <tuple> value
