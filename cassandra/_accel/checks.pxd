# A parameter declared `bytes` accepts None. The macros that read a bytes object would then read the
# memory of None.

from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE


cdef inline bytes exact_bytes(object value, str what):
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")
    return <bytes> value


# Why an object with addresses inside, or in use by others, is neither copied nor pickled. Without a
# word from its class Python says the same, but not of a subclass and not in every protocol.
cdef inline object unpicklable(object thing):
    return TypeError(f"cannot pickle or copy {type(thing).__name__!r} object")


# `cdef tuple` accepts None, and tuples of another length, whose items would be read past their end.
cdef inline tuple exact_pair(object value, str what):
    if not PyTuple_CheckExact(value) or PyTuple_GET_SIZE(value) != 2:
        raise TypeError(
            f"{what} is {value!r} ({type(value).__name__}); it has to be a tuple of two"
        )
    return <tuple> value
