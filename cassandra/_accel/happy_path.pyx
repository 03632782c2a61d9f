"""The common path of a successful request: the compiled twin of `cassandra.engine.happy_path`.

The Python twin explains how it works. There are two differences: the streams in use are stored as
bits, and the responders are in a list by stream. After a call that may run application code, the
compiled code uses only objects to which it holds references, and checks sizes again (see
docs/twins.rst).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.contextvars cimport (
    PyContext_CopyCurrent, PyContext_Enter, PyContext_Exit, PyContext_New,
)
from cpython.exc cimport PyErr_SetObject
from cpython.long cimport PyLong_FromVoidPtr
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject, PyObject_GenericSetAttr
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memset

from cassandra._accel.bodies cimport execute_of
from cassandra._accel.checks cimport exact_bytes, exact_pair, item_of, unpicklable
from cassandra._accel.clock cimport MicrosecondClock
from cassandra._accel.fields cimport (
    BoundBase, CallBase, ConnectionBase, CoreBase, EngineBase, Kind, PoolBase, PreparedBase,
    ProfileBase, ResultBase, field_or_none, has_fields, reads_plainly, turbocql_put, value_of,
    with_fields,
)
from cassandra._accel.frame cimport FrameWriter
from cassandra._accel.observed cimport HEADER_SIZE, ObservedBase
from cassandra._accel.rows cimport encoded_rows, named_rows
from cassandra._accel.tablets cimport Chunk, TabletMap, payload_end, token_in
from cassandra._accel.threads cimport (
    IS_FREE_THREADED, add, exchange, load, load_pointer, share, store,
)
from cassandra._accel.wbuf cimport get_be32

import asyncio
import logging
import reprlib
from itertools import chain as _chain_of
from os import strerror as _strerror
from time import monotonic as _monotonic_function

from cassandra._accel.frame import FrameReader as _FrameReader_class
from cassandra._threads import Lock as _Lock
from cassandra._write_times import generated as _generated
from cassandra.engine.environment import call_on as _call_on
from cassandra.engine.failures import as_exception as _as_exception, call_on_loop as _call_on_loop
from cassandra.engine.failures import reraise_on_loop as _reraise_on_loop
from cassandra.engine.mistakes import no_attribute as _no_attribute
from cassandra.engine.mistakes import refuse_loop as _refuse_loop
from cassandra.engine.mistakes import refuse_missing_plan as _refuse_missing_plan
from cassandra.engine.mistakes import running_loop as _running_loop_function
from cassandra.engine.mistakes import statement_of as _statement_of
from cassandra.engine.mistakes import truth_test as _new_truth_test
from cassandra.engine.serial_reads import in_order as _in_order_of
from cassandra.engine.targets import (
    Target as _Target_class, failing_plan as _failing_plan, plan_to as _plan_to_function,
)
from cassandra.errors import (
    ConnectionException, DecodeError as _DecodeErrorClass, ProtocolError as _ProtocolErrorClass,
)
from cassandra.policies.plan_limit import LONGEST_PLAN
from cassandra.policies.speculation import NoSpeculativeExecutionPolicy as _NoSpeculationPolicy
from cassandra.protocol.extras import check_payload as _check_payload
from cassandra.protocol.handler import ProtocolHandler as _ProtocolHandlerClass
from cassandra.protocol.messages.results import (
    VOID_RESULT as _VOID_RESULT,
    ResultMessage as _ResultMessage_class,
    rows_result as _rows_result_function,
)
from cassandra.query.batch import BatchStatement as _BatchStatement_class
from cassandra.query.bound import BoundStatement as _BoundStatement_class
from cassandra.query.prepared import PreparedStatement as _PreparedStatement_class
from cassandra.timestamps import MonotonicTimestampGenerator as _StockGeneratorClass
from cassandra.query.row_factories import named_tuple_factory as _named_tuples
from cassandra.engine.call_options import CallOptions as _CallOptions_class
from cassandra.query.settings import FETCH_SIZE_UNSET as _FETCH_SIZE_UNSET, NOT_SET as _NOT_SET

cdef extern from "clocks.h":
    double turbocql_monotonic(object) except -1.0

cdef extern from "Python.h":
    ctypedef object (*PyCFunction)(PyObject*, PyObject*)
    enum: METH_NOARGS
    bint PyCFunction_Check(object) noexcept
    int PyCFunction_GetFlags(object) except? -1
    PyCFunction PyCFunction_GetFunction(object) except NULL
    PyObject* PyCFunction_GetSelf(object) noexcept

__all__ = [
    "METADATA_IDS", "MOST_DIRECT", "TABLET_VERSIONS", "WRITE_HIGH_WATER",
    "Attempt", "Collector", "ExecuteBodyBase", "HappyPath", "Event", "RequestBase",
    "ResultFuture", "RowsAnswer", "ShardTable", "StreamTable", "TimerWheel", "WakeQueue",
    "bound_request", "first_with_room", "in_flight_of", "request_for", "resolve", "start_all",
]

log = logging.getLogger("cassandra.connection")

# Each request calls this function, so we keep it in a C variable. In CPython it is a C function
# without arguments. We call the C function directly, which takes half the instructions.
cdef object _running_loop_called = _running_loop_function
cdef PyCFunction _running_loop_in_c = NULL
if PyCFunction_Check(_running_loop_called) and (
    PyCFunction_GetFlags(_running_loop_called) == METH_NOARGS
):
    _running_loop_in_c = PyCFunction_GetFunction(_running_loop_called)


cdef inline object _running_loop():
    """Return the loop that runs in this thread, or None."""
    if _running_loop_in_c != NULL:
        return _running_loop_in_c(<PyObject*> PyCFunction_GetSelf(_running_loop_called), NULL)
    return _running_loop_called()


# CPython has a single empty tuple, so the observers of a profile without observers are this object.
cdef tuple _nobody = ()

WRITE_HIGH_WATER = 1 << 20
MOST_DIRECT = 1 << 16
METADATA_IDS = 0x100
TABLET_VERSIONS = 0x200

cdef object _fetch_size_unset = _FETCH_SIZE_UNSET
cdef object _not_set = _NOT_SET
cdef object _NoSpeculation = _NoSpeculationPolicy
cdef object _monotonic_called = _monotonic_function


cdef inline double _monotonic() except -1.0:
    return turbocql_monotonic(_monotonic_called)

cdef object _ResultMessage = _ResultMessage_class
cdef object _new_result = object.__new__
cdef object _new_lock = _Lock
cdef object _chain = _chain_of
cdef object _in_order = _in_order_of
cdef object _plan_to = _plan_to_function
cdef int _longest_plan = LONGEST_PLAN
cdef object _Target = _Target_class
cdef object _void_result = _VOID_RESULT
cdef object _ConnectionException = ConnectionException
cdef object _ProtocolHandler = _ProtocolHandlerClass
cdef object _StockGenerator = _StockGeneratorClass
cdef object _DecodeError = _DecodeErrorClass
cdef object _ProtocolError = _ProtocolErrorClass
cdef type _FrameReader = _FrameReader_class
cdef object _rows_result = _rows_result_function
cdef object _named_tuple_factory = _named_tuples
cdef object _CancelledError = asyncio.CancelledError
cdef object _InvalidState = asyncio.InvalidStateError
cdef object _Future = asyncio.Future
cdef object _Task = asyncio.Task
cdef object _short = reprlib.repr

cdef type _BatchStatement = _BatchStatement_class
cdef type _BoundStatement = _BoundStatement_class
cdef type _BoundWithFields = with_fields(_BoundStatement, BoundBase)
cdef type _PreparedStatement = _PreparedStatement_class
cdef type _PreparedWithFields = with_fields(_PreparedStatement, PreparedBase)
cdef type _CallWithFields = with_fields(_CallOptions_class, CallBase)

cdef object _EXECUTE_OPCODE = 10
cdef object _ORPHAN = object()  # replaces a responder that no longer waits for its response
cdef TabletMap _NO_TABLETS = TabletMap()

cdef enum:
    C_HIGH_WATER = 1 << 20
    C_MOST_DIRECT = 1 << 16
    C_MAX_STREAMS = 32768
    C_WORDS = 512
    OP_RESULT = 8
    KIND_VOID = 1
    KIND_ROWS = 2
    C_METADATA_IDS = 0x100
    C_TABLET_VERSIONS = 0x200
    PAYLOAD_ALONE = 0x04
    FINE_TICKS_OF_COARSE = 10

cdef enum:  # RequestBase._place
    NOT_LOOKED_UP
    NOWHERE
    ON_RING
    IN_TABLET
    ON_SHARD                             # the call names the shard

cdef enum:  # RequestBase._throttle
    NOT_ASKED
    IN_QUEUE
    HAS_BEGUN

cdef double FINE = 0.01
cdef double COARSE_FROM = 1.0
cdef double LONGEST = 1e9
cdef double SAME_CLOCK = 1.0
cdef double LATE = 0.01
cdef double PATIENCE = 0.005

cdef extern from "objects.h":
    object turbocql_new(object)

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long index;
        #if defined(_M_X64) || defined(_M_ARM64)
        _BitScanForward64(&index, word);
        #else
        if (!_BitScanForward(&index, (unsigned long) word)) {
            _BitScanForward(&index, (unsigned long) (word >> 32));
            index += 32;
        }
        #endif
        return (int) index;
    }
    #else
    #define lowest_bit(word) __builtin_ctzll(word)
    #endif
    """
    int lowest_bit(uint64_t word) nogil

cdef extern from *:
    """
    #if defined(_WIN32)
    static Py_ssize_t send_now(int descriptor, const char *data, Py_ssize_t size) { return -1; }
    #else
    #include <errno.h>
    #include <sys/socket.h>
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0
    #endif
    /* Returns how many bytes the socket accepted, or a negative errno. */
    static Py_ssize_t send_now(int descriptor, const char *data, Py_ssize_t size) {
        Py_ssize_t taken = send(descriptor, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (taken >= 0) return taken;
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
    }
    #endif
    """
    Py_ssize_t send_now(int descriptor, const char* data, Py_ssize_t size) nogil


# The next two functions return their argument as an object whose fields can be read directly. They
# return None for objects of subclasses, whose attributes must be read by name, because they may be
# properties.
cdef inline BoundBase _bound_fields(statement):
    if type(statement) is _BoundWithFields:
        return <BoundBase> statement
    return None


cdef inline CallBase _call_fields(options):
    if type(options) is _CallWithFields:
        return <CallBase> options
    return None


cdef inline object _profile_of(options):
    if type(options) is _CallWithFields:
        return value_of(&(<CallBase> options).profile, options, "profile")
    return options.profile


include "happy_path_fields.pxi"
include "happy_path_streams.pxi"
include "happy_path_events.pxi"
include "happy_path_attempts.pxi"


def first_with_room(connections):
    """Return the connection with a free stream and the fewest streams in use, or None."""
    return _first_with_room(connections)


def in_flight_of(connections):
    """Return the number of streams in use on all of `connections`."""
    cdef Py_ssize_t count = 0
    for connection in <list?> connections:
        count += (<StreamTable?> connection.streams)._count()
    return count


cdef object _first_with_room(list connections):
    cdef StreamTable streams
    cdef Py_ssize_t least = C_MAX_STREAMS + 1
    best = None
    for connection in connections:
        streams = <StreamTable?> _connection_streams(connection)
        if streams._count() < least and streams._has_room():
            best = connection
            least = streams._count()
    return best


include "happy_path_shards.pxi"
include "happy_path_awaited.pxi"
include "happy_path_collector.pxi"


cdef class RequestBase:
    """One execution of one statement, as long as nothing goes wrong (see the Python twin)."""

    # Methods that only pass the session on read it without a reference: all requests of a session
    # share the session, and threads that count references to it wait for each other.
    cdef public object session
    cdef public object statement
    cdef public object is_idempotent     # the statement's setting at the call
    cdef public object request_body
    cdef public object policy
    cdef public object retry_policy
    cdef public object speculative_policy
    cdef public object timeout
    cdef public object on_done
    cdef public object target
    cdef public object vectors
    cdef public object caller            # the caller, for the throttler; None without a throttler
    # True if the thread that waits for the response has also read it, and ended the request.
    cdef readonly bint is_ended_by_caller
    cdef int _throttle                   # for the throttler: NOT_ASKED, IN_QUEUE or HAS_BEGUN
    cdef public ObservedBase observed    # the request as observers see it; None without observers
    cdef Attempt _first                  # the first attempt; most requests have only one
    cdef list _attempts                  # all attempts, if there are several, or at a read
    cdef dict _errors                    # created when it is first read
    cdef public Py_ssize_t retries
    cdef public bint done
    cdef public object response
    cdef public object error
    cdef public object _busy
    cdef public object _plan
    cdef public object _speculation
    cdef public object _speculation_handle
    cdef public object _retry_handle
    cdef public long long _timer_slot
    cdef public Py_ssize_t _waits
    cdef int _place                      # how the shard is found (NOT_LOOKED_UP, ON_RING, ...)
    cdef int64_t _token
    cdef Chunk _chunk                    # contains the partition's tablet, at index _at
    cdef Py_ssize_t _at
    cdef Py_ssize_t _shard               # the shard that the call names
    cdef ResultFuture _future            # if set, it gets the outcome, and not on_done
    cdef Collector _collector            # if set, it gets the outcome, and not on_done
    cdef Py_ssize_t _collected_at
    cdef object _row_factory             # of the profile, when the request was made
    cdef bint _reads_rows                # the response becomes a RowsAnswer if possible

    def __init__(self, session, statement, request_body, on_done):
        self.session = session
        self.statement = statement
        self.request_body = request_body
        self.on_done = on_done
        self.is_idempotent = getattr(statement, "is_idempotent", None)
        self.vectors = "list"
        self._timer_slot = -1

    def __reduce__(self):
        raise unpicklable(self)

    @property
    def attempts(self):
        """The attempts to send the request so far."""
        return self._all_attempts()

    cdef list _all_attempts(self):
        with cython.critical_section(self):
            if self._attempts is None:
                self._attempts = [] if self._first is None else [self._first]
            return self._attempts

    @attempts.setter
    def attempts(self, attempts):
        self._attempts = attempts

    @property
    def errors(self):
        """The errors of failed attempts, by host."""
        with cython.critical_section(self):
            if self._errors is None:
                self._errors = {}
            return self._errors

    @errors.setter
    def errors(self, errors):
        self._errors = errors

    def clone(self, request_class, on_done):
        """Create a request for the same statement, for example for the next page."""
        cdef RequestBase request
        request = <RequestBase?> request_class(
            self.session, self.statement, self.request_body, on_done
        )
        request.is_idempotent = self.is_idempotent
        request.policy = self.policy
        request.retry_policy = self.retry_policy
        request.speculative_policy = self.speculative_policy
        request.timeout = self.timeout
        request.target = self.target
        request.vectors = self.vectors
        request.caller = self.caller
        if self.observed is not None:
            request.observed = self.observed._for_page(request)
        return request

    def columns_for_vectors(self, metadata):
        """Return `metadata` with the class of vectors that this request asks for."""
        return metadata.with_vectors(self.vectors) if self.vectors != "list" else metadata

    # -- implemented by the subclass -------------------------------------------------------------

    def on_other_answer(self, attempt, connection, opcode, flags, body):
        """Called for a response that is neither VOID nor rows with known columns."""
        raise NotImplementedError

    def on_attempt_failed(self, attempt, error):
        """Called when an attempt gets no response, because its connection failed."""
        raise NotImplementedError

    def on_no_connection(self, host, pool):
        """Called if `host` of the plan has no free connection; `pool` is None if the host has no
        pool.
        """
        raise NotImplementedError

    def on_plan_exhausted(self):
        """Called when no host of the query plan could accept the request."""
        raise NotImplementedError

    def start_speculation(self):
        """Called after the first attempt is sent, if speculative executions may follow."""
        raise NotImplementedError

    # -- start and end ---------------------------------------------------------------------------

    def start(self):
        """Start the request; called on the event loop."""
        self._begin()

    cdef int _begin(self) except -1:
        cdef TimerWheel timers
        if self.done:
            return 0
        session = self.session
        if self.observed is not None:
            self.observed.begin()
        if _session_closed(session):
            self.fail(session.closed_error())
            return 0
        try:
            if self.timeout is not None and self._timer_slot < 0:
                if self.timeout <= 0:  # the request has timed out already, so do not send it
                    self.on_timeout()
                    return 0
                timers = <TimerWheel?> _session_timers(session)
                self._timer_slot = timers._add(self.timeout, self)
            if self.caller is not None and self._throttle != HAS_BEGUN and not self._is_admitted():
                return 0
            if self._plan is not None:
                pass  # `start_directly` has made the plan
            elif self.target is not None:
                self._plan = _plan_to(self.target, self)
            else:
                self._plan = self._new_plan(session)
            self._try_next_host()
            if self.speculative_policy is not None and self.is_idempotent:
                self.start_speculation()
        except BaseException as error:  # an error in a policy or in the driver ends the request
            self.fail(_as_exception(error))
        return 0

    cdef bint _is_admitted(self) except -1:
        """Ask the throttler; return False if the request waits for its turn."""
        self._throttle = HAS_BEGUN if self.session.throttle.admit(self) else IN_QUEUE
        return self._throttle == HAS_BEGUN

    def start_admitted(self):
        """Called when the throttler lets the request begin."""
        self._throttle = HAS_BEGUN
        self.start()

    @cython.final
    cdef object _new_plan(self, session):
        """Return the policy's query plan for this request, as an iterator."""
        if isinstance(self.request_body, ExecuteBodyBase):
            consistency = (<ExecuteBodyBase> self.request_body).consistency
        else:
            consistency = getattr(self.request_body, "consistency", None)
        statement = self.statement
        if consistency == 8 or consistency == 9:  # SERIAL and LOCAL_SERIAL
            statement = _in_order(statement, consistency)
        keyspace = _session_keyspace(session)
        plan = self.policy.make_query_plan(keyspace, statement)
        return iter(plan) if plan is not None else _refuse_missing_plan(self.policy)

    def start_directly(self, is_awaited=False):
        """Send from the calling thread, if the connection is idle (see the Python twin).

        Returns False if the request was not sent; the caller then starts it on the loop.
        """
        return self._start_directly(is_awaited)

    cdef bint _start_directly(self, bint is_awaited) except -1:
        session = self.session
        if (
            self.speculative_policy is not None or self.target is not None or session.closed
            or self.caller is not None
            or not (isinstance(self.request_body, ExecuteBodyBase) or self.request_body.is_plain)
            or not (self.policy is session.direct_policy or session.plans_anywhere(self.policy))
        ):
            return False
        try:
            plan = self._new_plan(session)
            host = next(plan, None)
            if host is None:
                return False
            pool = (<dict?> session.pools_by_id).get(PyLong_FromVoidPtr(<void*> host))
            if pool is None:
                connection = None
            else:
                shards = pool.shards
                if shards is None:
                    connection = _first_with_room(pool.connections)
                else:
                    connection = self._choose(<ShardTable?> shards, host, pool.connections)
        except Exception as error:  # a policy failed, or a signal handler raised the error
            self._plan = _failing_plan(error)  # so `start` ends the request with the error
            return False
        self._plan = plan
        if self.observed is not None:
            self.observed.begin_directly()
        try:
            if connection is not None and self._send_directly(host, connection, is_awaited):
                return True
        # Encoding failed before anything was sent, or a signal handler raised the error.
        except Exception as error:
            self._plan = _failing_plan(error)
            return False
        # `start` must use the same plan: a policy that rotates hosts would skip one in a new plan.
        self._plan = _chain((host,), plan)
        return False

    cdef bint _send_directly(self, host, connection, bint is_awaited) except -1:
        """Send from the calling thread; returns False if nothing was sent."""
        cdef StreamTable streams = <StreamTable?> connection.streams
        cdef TimerWheel timers
        cdef Attempt attempt
        cdef unsigned char block
        cdef int epoch
        if not streams._is_idle():
            return False
        # Observers and throttlers are called on the loop, which must therefore read the response.
        is_awaited = (
            is_awaited and self.observed is None and self._throttle == NOT_ASKED
            and _core_on_latency(_session_core(self.session)) is None
        )
        if streams._is_lent and not is_awaited:
            return False
        # Read the epoch before the keyspace: code that changes the keyspace changes the epoch
        # first. `streams._send_directly` sends only if the epoch is still the same.
        epoch = load(&streams._epoch)
        if not isinstance(self.request_body, ExecuteBodyBase) and not self._fits(connection):
            return False
        # Start the timer before we write: the response may arrive before this thread continues.
        if self.timeout is not None and self._timer_slot < 0:
            if self.timeout <= 0:
                return False
            timers = <TimerWheel?> self.session.timers
            self._timer_slot = timers._add_from_thread(self.timeout, self)
        attempt = Attempt.__new__(Attempt)
        attempt.request = self
        attempt.host = host
        attempt.connection = connection
        attempt.stream = -1
        attempt.started = _now_of(self.session)
        attempt.reprepared = ()
        opcode, flags, body = self.request_body.render(connection)
        if isinstance(self.request_body, ExecuteBodyBase):
            attempt.columns = exact_pair(
                (<ExecuteBodyBase> self.request_body).result, "the result of a request_body"
            )[0]
            if (<ExecuteBodyBase> self.request_body)._wire_format & C_TABLET_VERSIONS:
                block = <unsigned char> self._version_block()
                body = exact_bytes(body, "a body") + (<char*> &block)[:1]
        else:
            attempt.columns = self.request_body.cached_metadata()
        if PyBytes_GET_SIZE(exact_bytes(body, "a body")) > C_MOST_DIRECT:
            return False
        data = streams._frame(opcode, flags, body)
        if self.done:  # the request has timed out in the meantime
            return True
        if data is None:
            return False
        return streams._send_directly(
            attempt, exact_bytes(data, "a frame"), self.attempts, epoch, is_awaited
        )

    def read_answer(self, may_end):
        """Read the answer in the calling thread, if the connection's loop has lent it the reading
        (see the Python twin).
        """
        cdef Attempt attempt
        cdef list attempts = self._attempts
        if attempts is None or PyList_GET_SIZE(attempts) != 1:
            return False
        attempt = <Attempt?> attempts[0]
        connection = attempt.connection
        if connection is None:
            return False
        return (<StreamTable?> _connection_streams(connection))._read_answer(
            self, attempt, connection, may_end
        )

    cdef bint _fits(self, connection) except -1:
        """Return True if unqualified table names on `connection` refer to the right keyspace."""
        request_body = self.request_body
        if not request_body.depends:
            return True
        return connection.gate is None and request_body.expected == connection.keyspace

    def finish(self, response):
        """Called with the response."""
        self._finish(response)

    cdef int _finish(self, response) except -1:
        # If several threads end the request, the first thread decides. The outcomes of the other
        # threads are dropped.
        with cython.critical_section(self):
            if self.done:
                return 0
            self.response = response
            self.done = True
        self._end()
        return 0

    def fail(self, error):
        """Called with the final error."""
        with cython.critical_section(self):
            if self.done:
                return
            self.error = error
            self.done = True
        self._end()

    def cancel(self):
        """Called when the caller gives up."""
        self.fail(asyncio.CancelledError())

    def end(self):
        """End the request, successful or not: release everything, and call `on_done`."""
        self._end()

    cdef int _end(self) except -1:
        cdef PyObject* session = <PyObject*> self.session
        cdef TimerWheel timers
        self.done = True
        if self._timer_slot >= 0:
            timers = <TimerWheel?> _session_timers(<object> session)
            timers._discard(self._timer_slot, self)
        if self._speculation_handle is not None:
            self._speculation_handle.cancel()
        if self._retry_handle is not None:
            self._retry_handle.cancel()
        if self.observed is not None:  # before the attempts drop their connections
            self._end_observed()
        if self._attempts is None:
            if self._first is not None:
                self._first._release()
        else:
            for attempt in self._attempts:
                (<Attempt?> attempt)._release()
        self._plan = None
        if self._throttle != NOT_ASKED:
            self._leave_throttle()
        # The waiter and the request refer to each other. We break the cycle here, so that requests
        # do not have to wait for the garbage collector.
        future = self._future
        collector = self._collector
        on_done = self.on_done
        self.on_done = _over
        if future is not None:
            self._future = None
            future._complete(self)
        elif collector is not None:
            self._collector = None
            collector._complete(self)
        else:
            on_done(self)
        return 0

    cdef int _end_observed(self) except -1:
        self.observed.finish()
        # Only a request for the next page needs `observed`. Without a next page, break the
        # reference cycle of `observed` and the request here.
        if getattr(self.response, "paging_state", None) is None:
            self.observed = None
        return 0

    cdef int _leave_throttle(self) except -1:
        """Leave the throttler, so that the next request may begin."""
        cdef int state = self._throttle
        throttle = self.session.throttle
        self._throttle = NOT_ASKED
        try:
            if throttle is not None:
                if state == HAS_BEGUN:
                    throttle.release(self)
                else:
                    throttle.withdraw(self)
        # The application's throttler raised an error; the request is finished anyway.
        except BaseException as error:
            log.exception("%r failed", throttle)
            _reraise_on_loop(error)
        return 0

    # -- sending ---------------------------------------------------------------------------------

    def try_next_host(self):
        """Send the request to the next host of the plan that has a free connection."""
        self._try_next_host()

    cdef int _try_next_host(self) except -1:
        cdef PyObject* session = <PyObject*> self.session
        cdef dict pools = _session_pools_by_id(<object> session)
        cdef int passed = 0
        for host in self._plan:
            # Look the pool up by the host's address, which needs no call of the host's __hash__. A
            # pool keeps its host alive, so no other object can have that address.
            pool = pools.get(PyLong_FromVoidPtr(<void*> host))
            if pool is None:
                pool = self.session.pools.get(host)
            if pool is not None:
                shards = _pool_shards(pool)
                connections = _pool_connections(pool)
                if shards is None:
                    connection = _first_with_room(connections)
                else:
                    connection = self._choose(<ShardTable?> shards, host, connections)
                if connection is not None:
                    self._send_to(host, connection)
                    return 0
            self.on_no_connection(host, pool)
            # The plan of an application's policy may be endless.
            passed += 1
            if passed >= _longest_plan:
                break
        self.on_plan_exhausted()
        return 0

    def choose(self, host, pool):
        """Return a connection of `pool` with a free stream; None if all are full.

        A connection to the shard of the request's partition is preferred.
        """
        shards = pool.shards
        if shards is None:
            return _first_with_room(pool.connections)
        return self._choose(<ShardTable?> shards, host, pool.connections)

    cdef object _choose(self, ShardTable shards, host, connections):
        cdef Py_ssize_t shard = -1
        if self._place == NOT_LOOKED_UP:
            self._locate(shards.tablets)
        if self._place == ON_RING:
            shard = shards._shard_of(self._token)
        elif self._place == IN_TABLET:
            shard = shards.tablets._shard_on(self._chunk, self._at, host)
        elif self._place == ON_SHARD:
            shard = self._shard
        if shard >= 0:
            connection = shards._pick(shard)
            if connection is not None:
                return connection
        return _first_with_room(connections)

    cdef int _locate(self, TabletMap tablets) except -1:
        """Find the token of the partition, and its tablet if there is one. Done once."""
        if self.target is not None:
            return self._locate_target(tablets)
        if not token_in(self.statement, &self._token):
            self._place = NOWHERE
            return 0
        return self._locate_token(tablets)

    cdef int _locate_target(self, TabletMap tablets) except -1:
        """Do the same as `_locate` for a request with an explicit target."""
        target = self.target
        is_exact = type(target) is _Target
        token = target.murmur3 if is_exact else None
        self._place = NOWHERE
        if token is not None:
            self._token = token
            self._locate_token(tablets)
        elif token_in(self.statement, &self._token):
            self._locate_token(tablets)
        if is_exact and target.shard is not None:
            self._place = ON_SHARD
            self._shard = target.shard
        return 0

    cdef int _locate_token(self, TabletMap tablets) except -1:
        keyspace = self._keyspace()
        if not tablets._has_keyspace(keyspace):
            self._place = ON_RING
            return 0
        self._chunk = tablets._row(keyspace, self._table(), self._token, &self._at)
        if self._chunk is None:
            self._place = NOWHERE
            add(&tablets.misses, 1)
        else:
            self._place = IN_TABLET
            add(&tablets.hits, 1)
        return 0

    cdef object _keyspace(self):
        statement = self.statement
        if type(statement) is _BoundWithFields:
            keyspace = value_of(&(<BoundBase> statement).keyspace, statement, "keyspace")
        else:
            keyspace = getattr(statement, "keyspace", None)
        return keyspace or self.session.keyspace

    cdef object _table(self):
        statement = self.statement
        if type(statement) is _BoundWithFields:
            return value_of(&(<BoundBase> statement).table, statement, "table")
        return getattr(statement, "table", None)

    def version_block(self):
        """Return the byte that shows the server the tablet version that we know (see the twin)."""
        return self._version_block()

    cdef int _version_block(self) except -1:
        cdef TabletMap tablets = <TabletMap?> self.session.core.metadata.tablets
        if self._place == NOT_LOOKED_UP:
            self._locate(tablets)
        return tablets._next_block(self._chunk, self._at)

    def learn(self, payload):
        """Store the tablet of this request's partition, which the server sent in `payload`."""
        cdef TabletMap tablets = <TabletMap?> self.session.core.metadata.tablets
        tablets._learn(self._keyspace(), self._table(), exact_bytes(payload, "a payload"))

    def send_to(self, host, connection):
        """Send one attempt to a host; also called when a busy host has a free stream again."""
        self._send_to(host, connection)

    cdef int _send_to(self, host, connection) except -1:
        cdef PyObject* session
        cdef Attempt attempt
        cdef StreamTable streams
        if self.done:
            return 0
        streams = <StreamTable?> _connection_streams(connection)
        if streams._is_lent and not streams._end_loan():
            # The peer has closed the connection. Nothing was sent, so try the same host again.
            if self.done:
                return 0
            self._plan = _chain((host,), self._plan)
            return self._try_next_host()
        attempt = Attempt.__new__(Attempt)
        attempt.request = self
        attempt.host = host
        attempt.connection = connection
        attempt.stream = -1
        session = <PyObject*> self.session
        attempt.started = _now_of(<object> session)
        attempt.reprepared = ()
        with cython.critical_section(self):
            if self._first is None and self._attempts is None:
                self._first = attempt
            else:
                self._all_attempts().append(attempt)
        if self.observed is not None:
            self.observed.attempt(attempt)
        self._send(attempt, connection)
        return 0

    def send(self, attempt, connection):
        """Put `attempt` on a stream of `connection`."""
        self._send(attempt, connection)

    cdef int _send(self, Attempt attempt, connection) except -1:
        cdef StreamTable streams
        cdef ExecuteBodyBase execute
        cdef Py_ssize_t stream
        cdef unsigned char block
        cdef int code = 10
        cdef int bits = 0
        try:
            if isinstance(self.request_body, ExecuteBodyBase):
                execute = <ExecuteBodyBase> self.request_body
                execute._follow(_connection_wire_format(connection))
                body = execute.body
                if execute.tracing or execute.custom_payload:
                    code, bits, body = execute.with_extras(connection, body)
                # `result` is a pair, which `_follow` has set.
                attempt.columns = <object> item_of(<PyObject*> execute.result, 0)
                if execute._wire_format & C_TABLET_VERSIONS:
                    block = <unsigned char> self._version_block()
                    body = exact_bytes(body, "a body") + (<char*> &block)[:1]
            else:
                if not self._fits(connection):
                    if not self.session.pass_or_hold(self, attempt, connection):
                        return 0
                if (
                    connection.wire_format & C_TABLET_VERSIONS
                    and getattr(self.request_body, "opcode", None) == 10
                ):
                    # This request is encoded by its message object, which needs the byte as an
                    # attribute.
                    self.request_body.message.tablet_version_block = self._version_block()
                code, bits, body = self.request_body.render(connection)
                attempt.columns = self.request_body.cached_metadata()
            streams = <StreamTable?> _connection_streams(connection)
            stream = streams._send(attempt, code, bits, body) if not load(&streams._closed) else -1
            if stream < 0:
                raise connection.refusal()
            attempt.stream = stream
        except _ConnectionException as error:
            self.on_attempt_failed(attempt, error)
        except BaseException as error:  # the request cannot be encoded, for any host: give up
            self.fail(_as_exception(error))
        return 0

    # -- answers ---------------------------------------------------------------------------------

    def on_answer(self, attempt, connection, opcode, flags, body):
        """Called with the response to an attempt."""
        self._on_answer(<Attempt?> attempt, connection, opcode, flags, exact_bytes(body, "a body"))

    cdef int _on_answer(
        self, Attempt attempt, connection, int opcode, int flags, bytes body
    ) except -1:
        cdef double now
        cdef Py_ssize_t end
        cdef bint reads
        if self.done:
            return 0
        session = self.session
        now = _now_of(session)
        attempt.latency = now - attempt.started
        if self.observed is not None:
            self.observed.response_size = HEADER_SIZE + PyBytes_GET_SIZE(body)
        core = _session_core(session)
        observe = _core_on_latency(core)
        if observe is not None and opcode == OP_RESULT:
            observe(attempt.host, attempt.latency)
        reads = opcode == OP_RESULT and (
            isinstance(self.request_body, ExecuteBodyBase) or not self.request_body.decodes
        )
        if reads and flags == PAYLOAD_ALONE:
            end = payload_end(body)
            if end:
                # The payload has only a tablet. Store the tablet; the usual response follows.
                self.learn(body[26:end])
                body = body[end:]
                flags = 0
        if reads and flags == 0:
            if _is_void(body):
                return self._finish(_void_result)
            if attempt.columns is not None:
                rows = self._rows(attempt.columns, body)
                if rows is not None:
                    return self._finish(rows)
        self.on_other_answer(attempt, connection, opcode, flags, body)
        return 0

    cdef object _plain_result(self, Attempt attempt, connection, bytes body):
        """Return the result of a RESULT that is VOID or rows, without flags; None if it cannot be
        decoded.

        A thread may call this that does not run the loop.
        """
        if not isinstance(self.request_body, ExecuteBodyBase) and self.request_body.decodes:
            return None
        if _is_void(body):
            return _void_result
        if attempt.columns is not None:
            rows = self._rows(attempt.columns, body)
            if rows is not None:
                return rows
        try:
            return self.session.decode(self, attempt, connection, OP_RESULT, 0, body)
        except _ProtocolError:
            return None

    cdef object _rows(self, metadata, bytes body):
        """Return the result if the response is rows with the columns `metadata`, else None."""
        cdef Py_ssize_t pos
        cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
        cdef const unsigned char* data = <const unsigned char*> PyBytes_AS_STRING(body)
        cdef bytes head
        cdef RowsAnswer answer
        if metadata.has_user_types:
            pos = metadata.rows_at(body, 0, self.session.core.user_types)
        else:
            head = exact_bytes(metadata._head, "the head of a result's metadata")
            pos = PyBytes_GET_SIZE(head)
            if size < pos or memcmp(data, PyBytes_AS_STRING(head), pos) != 0:
                pos = metadata.rows_at(body, 0, None)
        # A negative row count is left to the slow path, which raises an error.
        if pos <= 0 or size - 4 < pos or data[pos] & 0x80:
            return None
        if self.vectors != "list":
            metadata = metadata.with_vectors(self.vectors)
        if self._reads_rows:
            answer = RowsAnswer.__new__(RowsAnswer)
            answer._metadata = metadata
            answer._body = body
            answer._offset = pos
            return answer
        message = _new_result(_ResultMessage)
        message.kind = 2
        message.metadata = metadata
        message.row_count = get_be32(data + pos)
        message._encoded = encoded_rows(body, pos + 4, get_be32(data + pos))
        return message


def start_all(requests):
    """Start all of `requests`; called on the event loop."""
    for request in <list?> requests:
        try:
            (<RequestBase?> request)._begin()
        except BaseException as error:  # go on with the other requests
            log.exception("%r could not be started", request)
            request.fail(_as_exception(error))


include "happy_path_resolving.pxi"


cdef bint _is_void(bytes body) noexcept:
    cdef const unsigned char* p
    if PyBytes_GET_SIZE(body) != 4:
        return False
    p = <const unsigned char*> PyBytes_AS_STRING(body)
    return p[0] == 0 and p[1] == 0 and p[2] == 0 and p[3] == 1


def _over(request):
    """Replaces `on_done` after it was called."""


# Each request counts references to these objects of modules (see `share`).
for _each in (
    _BoundStatement, _PreparedStatement, _ProtocolHandler, _ResultMessage, _fetch_size_unset,
    _monotonic_called, _named_tuple_factory, _not_set, _over, _running_loop_called, _void_result,
):
    share(_each)
