"""Arrow's C data interface in PyCapsules, compiled.

`cassandra.protocol.columnar.arrow_capsules` is the Python twin, and explains how it works.

The private_data of each struct points to a separate block of memory. The block contains the structs
of the children, the addresses of the buffers, and references to the Python objects that own them.
A consumer may call our callbacks from threads that Python does not know, so they acquire the GIL.
After the interpreter has ended, they only mark the struct as released, as the interface requires,
and do not free the memory; it is freed when the process ends.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memset

from cassandra._accel.arrow_c cimport ArrowArray, ArrowArrayStream, ArrowSchema
from cassandra._accel.threads cimport add

import struct as _struct

__all__ = ["RELEASES_SAFELY", "array_capsule", "held_count", "schema_capsule", "stream_capsule"]

RELEASES_SAFELY = True

cdef extern from *:
    """
    /* Whether this thread may run Python code. During its finalization, Py_IsInitialized() is
       already false, but the finalizing thread still has a thread state and runs Python code. After
       it, no thread has a state; PyGILState_Check() alone would not help, since it is then 1. */
    static int turbocql_has_python(void) {
        return Py_IsInitialized()
            || (PyGILState_GetThisThreadState() != NULL && PyGILState_Check());
    }
    """
    bint turbocql_has_python() noexcept nogil

cdef int64_t NULLABLE = 2  # ARROW_FLAG_NULLABLE
cdef int EIO = 5

# The number of structs that are exported and not yet released. It is changed only with the GIL.
cdef Py_ssize_t held = 0


# -- schemas ---------------------------------------------------------------------------------------

cdef struct SchemaPrivate:
    PyObject* texts         # a tuple of the bytes objects that the struct points to
    ArrowSchema* children
    ArrowSchema** addresses


# Returns the extension type, encoded as the interface requires.
cdef bytes metadata_of(object layout):
    pairs = (b"ARROW:extension:name", layout.extension.encode(), b"ARROW:extension:metadata", b"")
    packed = [_struct.pack("=i", len(item)) + item for item in pairs]
    return _struct.pack("=i", 2) + b"".join(packed)


# Fills `schema`, which must be all zeros. After an error, releases the parts that were filled.
cdef int fill_schema(ArrowSchema* schema, object layout, str name) except -1:
    cdef Py_ssize_t count = len(layout.children)
    cdef SchemaPrivate* private = <SchemaPrivate*> PyMem_RawCalloc(1, sizeof(SchemaPrivate))
    cdef bytes form = layout.format.encode()
    cdef bytes title = name.encode()
    cdef bytes metadata = metadata_of(layout) if layout.extension else None
    cdef tuple texts = (form, title, metadata)
    cdef Py_ssize_t i
    if private == NULL:
        raise MemoryError()
    # Keep the bytes alive to which `schema` will point. `free_schema` drops this reference.
    Py_INCREF(texts)
    private.texts = <PyObject*> texts
    add(&held, 1)
    schema.private_data = private
    schema.release = release_schema
    schema.format = PyBytes_AS_STRING(form)
    schema.name = PyBytes_AS_STRING(title)
    schema.metadata = PyBytes_AS_STRING(metadata) if metadata is not None else NULL
    schema.flags = NULLABLE if layout.nullable else 0
    try:
        private.children = <ArrowSchema*> PyMem_RawCalloc(count + 1, sizeof(ArrowSchema))
        private.addresses = <ArrowSchema**> PyMem_RawCalloc(count + 1, sizeof(void*))
        if private.children == NULL or private.addresses == NULL:
            raise MemoryError()
        schema.children = private.addresses
        for i in range(count):
            private.addresses[i] = private.children + i
            # Count the child before it is filled. If that fails, `release_schema` skips a child
            # that is still all zeros, because its `release` is NULL.
            schema.n_children = i + 1
            fill_schema(private.children + i, layout.children[i], layout.names[i])
    except BaseException:
        release_schema(schema)
        raise
    return 0


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t i
    if schema.release == NULL:
        return
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
    schema.release = NULL
    if turbocql_has_python():
        with gil:
            free_schema(<SchemaPrivate*> schema.private_data)


cdef void free_schema(SchemaPrivate* private) noexcept:
    PyMem_RawFree(private.children)
    PyMem_RawFree(private.addresses)
    Py_DECREF(<object> private.texts)
    PyMem_RawFree(private)
    add(&held, -1)


# -- arrays ----------------------------------------------------------------------------------------

cdef enum:
    MOST_BUFFERS = 3

cdef struct ArrayPrivate:
    Py_ssize_t viewed           # the number of open `views`
    Py_buffer[MOST_BUFFERS] views
    const void* buffers[MOST_BUFFERS]
    ArrowArray* children
    ArrowArray** addresses


# Fills `array`, which must be all zeros. After an error, releases the parts that were filled.
cdef int fill_array(ArrowArray* array, object column) except -1:
    cdef tuple children = column.children
    # A column of the type null has no buffers at all.
    cdef tuple buffers = () if column.layout.format == "n" else column.buffers
    cdef Py_ssize_t count = len(children)
    cdef Py_ssize_t i
    cdef ArrayPrivate* private
    if len(buffers) > MOST_BUFFERS:
        raise ValueError(f"a column has {len(buffers)} buffers")
    private = <ArrayPrivate*> PyMem_RawCalloc(1, sizeof(ArrayPrivate))
    if private == NULL:
        raise MemoryError()
    add(&held, 1)
    array.private_data = private
    array.release = release_array
    array.length = column.length
    array.null_count = column.null_count if buffers else column.length
    array.n_buffers = len(buffers)
    array.buffers = private.buffers
    try:
        for i in range(len(buffers)):
            if buffers[i] is not None:
                PyObject_GetBuffer(buffers[i], &private.views[private.viewed], PyBUF_SIMPLE)
                private.buffers[i] = private.views[private.viewed].buf
                private.viewed += 1
        private.children = <ArrowArray*> PyMem_RawCalloc(count + 1, sizeof(ArrowArray))
        private.addresses = <ArrowArray**> PyMem_RawCalloc(count + 1, sizeof(void*))
        if private.children == NULL or private.addresses == NULL:
            raise MemoryError()
        array.children = private.addresses
        for i in range(count):
            private.addresses[i] = private.children + i
            array.n_children = i + 1
            fill_array(private.children + i, children[i])
    except BaseException:
        release_array(array)
        raise
    return 0


cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef int64_t i
    if array.release == NULL:
        return
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
    array.release = NULL
    if turbocql_has_python():
        with gil:
            free_array(<ArrayPrivate*> array.private_data)


cdef void free_array(ArrayPrivate* private) noexcept:
    cdef Py_ssize_t i
    for i in range(private.viewed):
        PyBuffer_Release(&private.views[i])
    PyMem_RawFree(private.children)
    PyMem_RawFree(private.addresses)
    PyMem_RawFree(private)
    add(&held, -1)


# -- streams ---------------------------------------------------------------------------------------

cdef class Source:
    """The layout of a stream, the function that returns its next column, and its last error."""

    cdef object layout
    cdef object following
    cdef bytes error

    cdef int failed(self, object error) noexcept:
        try:
            self.error = (str(error) or type(error).__name__).encode("utf-8", "replace")
        except BaseException:
            self.error = b"an error without a text"
        return EIO


# In these three callbacks, `private_data` is the stream's Source. `stream_capsule` took a reference
# to the Source, and `release_stream` drops this reference.
cdef int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept with gil:
    cdef Source source = <Source> <object> <PyObject*> stream.private_data
    memset(out, 0, sizeof(ArrowSchema))
    try:
        fill_schema(out, source.layout, "")
    except BaseException as error:
        return source.failed(error)
    return 0


cdef int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept with gil:
    cdef Source source = <Source> <object> <PyObject*> stream.private_data
    memset(out, 0, sizeof(ArrowArray))
    try:
        column = source.following()
        if column is not None:
            fill_array(out, column)
    except BaseException as error:  # no exception may pass through the consumer's C code
        return source.failed(error)
    return 0


cdef const char* stream_error(ArrowArrayStream* stream) noexcept with gil:
    cdef Source source = <Source> <object> <PyObject*> stream.private_data
    return PyBytes_AS_STRING(source.error) if source.error is not None else NULL


cdef void release_stream(ArrowArrayStream* stream) noexcept nogil:
    if stream.release == NULL:
        return
    stream.release = NULL
    if turbocql_has_python():
        with gil:
            free_stream(<PyObject*> stream.private_data)


cdef void free_stream(PyObject* source) noexcept:
    add(&held, -1)
    Py_DECREF(<object> source)


# -- capsules --------------------------------------------------------------------------------------

cdef void destroy_schema(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*> PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    PyMem_RawFree(schema)


cdef void destroy_array(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*> PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    PyMem_RawFree(array)


cdef void destroy_stream(object capsule) noexcept:
    cdef ArrowArrayStream* stream
    stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release != NULL:
        stream.release(stream)
    PyMem_RawFree(stream)


cdef void* zeros(size_t size) except NULL:
    cdef void* memory = PyMem_RawCalloc(1, size)
    if memory == NULL:
        raise MemoryError()
    return memory


def schema_capsule(layout):
    """Return the Arrow schema of `layout` in an ``arrow_schema`` capsule."""
    cdef ArrowSchema* schema = <ArrowSchema*> zeros(sizeof(ArrowSchema))
    capsule = PyCapsule_New(schema, "arrow_schema", destroy_schema)
    fill_schema(schema, layout, "")
    return capsule


def array_capsule(column):
    """Return `column` in an ``arrow_array`` capsule. It is kept alive until the consumer releases
    it.
    """
    cdef ArrowArray* array = <ArrowArray*> zeros(sizeof(ArrowArray))
    capsule = PyCapsule_New(array, "arrow_array", destroy_array)
    fill_array(array, column)
    return capsule


def stream_capsule(layout, following):
    """Return an ``arrow_array_stream`` capsule; all columns of the stream have the layout `layout`.

    `following` returns the next column, or None at the end of the stream. If it raises an error,
    the consumer's call for the next column fails with the error's message.
    """
    cdef ArrowArrayStream* stream = <ArrowArrayStream*> zeros(sizeof(ArrowArrayStream))
    cdef Source source = Source.__new__(Source)
    capsule = PyCapsule_New(stream, "arrow_array_stream", destroy_stream)
    source.layout = layout
    source.following = following
    Py_INCREF(source)
    add(&held, 1)
    stream.private_data = <PyObject*> source
    stream.get_schema = stream_schema
    stream.get_next = stream_next
    stream.get_last_error = stream_error
    stream.release = release_stream
    return capsule


def held_count():
    """Return the number of structs that were exported and not yet released."""
    return held
