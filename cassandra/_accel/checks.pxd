# What a parameter declared `bytes` does not refuse: None. The macros that read a bytes object would read whatever None is.

cdef inline bytes exact_bytes(object value, str what):
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")
    return <bytes> value
