# An attempt to send a request, and the body of an execution. Included by happy_path.pyx.


@cython.final
@cython.freelist(256)
cdef class Attempt:
    """An attempt to send a request to one host (see the Python twin)."""

    cdef public RequestBase request
    cdef public object host
    cdef public object connection
    cdef public Py_ssize_t stream
    cdef public double started
    cdef public object latency
    cdef public object error
    cdef public object decision
    cdef public tuple reprepared
    cdef public object columns

    def __init__(self, request, host, connection, started):
        self.request = request
        self.host = host
        self.connection = connection
        self.stream = -1
        self.started = started
        self.reprepared = ()

    def on_response(self, connection, opcode, flags, body):
        """Called with the response; the stream is already free."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_answer(self, connection, opcode, flags, body)

    def on_connection_lost(self, connection, error):
        """Called when the connection failed, so that no response will come."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_attempt_failed(self, error)

    def abandon(self):
        """Called when nobody waits for the response any more; the stream becomes an orphan."""
        if self.stream >= 0 and self.connection is not None:
            self.connection.abandon(self.stream, self)
            self.stream = -1

    cdef int _release(self) except -1:
        if self.stream >= 0:
            self.abandon()
        self.request = None
        self.connection = None
        return 0

    def release(self):
        """Called when the request is over: drop references to the request and connection."""
        self.request = None
        self.connection = None

    def __repr__(self):
        latency = "in flight" if self.latency is None else f"{self.latency * 1000:.1f} ms"
        failed = ""
        if self.error is not None:
            failed = f", {type(self.error).__name__}: {self.error}, {self.decision}"
        return f"<Attempt: {self.host}, {latency}{failed}>"


cdef inline object _home_of(prepared):
    if type(prepared) is _PreparedWithFields:
        return value_of(&(<PreparedBase> prepared)._home, prepared, "_home")
    return prepared._home


cdef inline object _query_id_of(prepared):
    if type(prepared) is _PreparedWithFields:
        return value_of(&(<PreparedBase> prepared).query_id, prepared, "query_id")
    return prepared.query_id


cdef inline object _result_of(prepared):
    if type(prepared) is _PreparedWithFields:
        return value_of(
            &(<PreparedBase> prepared).result_metadata_and_id, prepared, "result_metadata_and_id"
        )
    return prepared.result_metadata_and_id


# The arguments are pointers, because threads that execute the same statement wait for each other if
# they count references to its objects. Only addresses are compared.
cdef inline bint _is_prepared_as(
    PyObject* prepared, PyObject* query_id, PyObject* result
) except -1:
    """Return True if the id and the result metadata of the statement are still these objects."""
    cdef PyObject* id_now
    cdef PyObject* result_now
    if type(<object> prepared) is _PreparedWithFields:
        id_now = load_pointer(&(<PreparedBase> prepared).query_id)
        result_now = load_pointer(&(<PreparedBase> prepared).result_metadata_and_id)
        if id_now != NULL and result_now != NULL:
            return id_now == query_id and result_now == result
    held = <object> prepared  # reading it may run code of the application
    return _query_id_of(held) is <object> query_id and _result_of(held) is <object> result


cdef class ExecuteBodyBase:
    """The execution of a prepared statement, rendered for a connection (see the Python twin)."""

    cdef readonly object prepared
    cdef public object tracing
    cdef public object custom_payload
    cdef public object consistency
    cdef readonly object values
    cdef public object page_size
    cdef public object paging_state
    cdef public object serial_consistency
    cdef public object timestamp
    cdef public bint skip_metadata
    cdef readonly bytes body
    cdef int _wire_format
    cdef readonly tuple result
    cdef object _query_id

    def __init__(self, prepared, values):
        self.prepared = prepared
        self.values = values
        self.tracing = False
        self.consistency = 0
        self.result = exact_pair(prepared.result_metadata_and_id, "result_metadata_and_id")

    def __reduce__(self):
        raise unpicklable(self)

    def prerender(self, wire_format):
        """Encode the body now, for connections with this `wire_format` (version and extensions)."""
        self._prerender(wire_format)

    cdef int _prerender(self, int wire_format) except -1:
        cdef object metadata_id = None
        prepared = self.prepared
        self.result = exact_pair(_result_of(prepared), "result_metadata_and_id")
        self._query_id = _query_id_of(prepared)
        self.skip_metadata = False
        if wire_format & C_METADATA_IDS:
            # We may ask the server to leave out the metadata only if we send the metadata's id:
            # then the server sends the new columns if they have changed.
            metadata_id = self.result[1] or b""
            self.skip_metadata = bool(self.result[1]) and bool(self.result[0])
        self.body = execute_of(
            self._query_id, metadata_id, self.values, self.consistency, self.page_size,
            self.paging_state, self.serial_consistency, self.timestamp, self.skip_metadata,
            wire_format & 0xFF,
        )
        self._wire_format = wire_format
        return 0

    def invalidate(self):
        """Discard the rendered body before the request is sent again."""
        self._wire_format = 0

    def replace(self, prepared, values):
        """Execute another statement, with other values, from the next attempt on."""
        self.prepared = prepared
        self.values = values
        self._wire_format = 0

    cdef int _follow(self, int wire_format) except -1:
        """Encode the body again if the statement was prepared again or the format differs."""
        if wire_format != self._wire_format or not _is_prepared_as(
            <PyObject*> self.prepared, <PyObject*> self._query_id, <PyObject*> self.result
        ):
            self._prerender(wire_format)
        return 0

    def render(self, connection):
        """Return (opcode, flags, body) for `connection`."""
        self._follow(connection.wire_format)
        if self.tracing or self.custom_payload:
            return self.with_extras(connection, self.body)
        return _EXECUTE_OPCODE, 0, self.body

    def with_extras(self, connection, body):
        """Return the body with tracing or a custom payload; the subclass implements it."""
        raise NotImplementedError
