# The timeouts of requests (TimerWheel), and the streams of a connection (StreamTable). Included by
# happy_path.pyx.

cdef extern from "Python.h":
    int PyDict_DelItem(object, object) noexcept
    void PyErr_Clear()


cdef inline double _seconds(timeout) except -1:
    """Return a timeout in seconds, limited to LONGEST, so that it can be converted to a tick."""
    cdef double seconds
    if type(timeout) is not float:
        timeout = float(timeout if timeout < LONGEST else LONGEST)
    seconds = timeout
    return seconds if seconds < LONGEST else LONGEST


cdef inline long long _tick_of(double when, bint is_coarse) noexcept:
    cdef long long tick = <long long> (when / FINE) + 1
    if is_coarse:
        tick += (FINE_TICKS_OF_COARSE - tick % FINE_TICKS_OF_COARSE) % FINE_TICKS_OF_COARSE
    return tick


cdef class TimerWheel:
    """Deadlines of items that usually complete before their deadlines (see the Python twin).

    Other threads than the loop's also add and discard items. So all code that accesses the slots is
    in a critical section.
    """

    cdef object _time
    cdef object _call_at
    cdef dict _slots
    cdef object _handle
    cdef object _handle_tick
    # The slot that was used last. Most requests of one iteration of the loop use the same slot.
    cdef long long _last_tick
    cdef dict _last
    cdef object _loop
    cdef double _offset
    # A function that returns seconds and may be called in any thread. If it is the system's clock
    # (`_is_system`), we read the clock without a call.
    cdef readonly object clock
    cdef bint _is_system

    def __init__(self, loop, clock=_monotonic_function):
        cdef double offset = loop.time() - clock()
        self.clock = clock
        self._is_system = clock is _monotonic_called
        self._time = loop.time
        self._loop = loop
        # Other threads cannot use the loop's time, because uvloop does not update it while the loop
        # waits. So store the difference of the loop's time and `clock`.
        self._offset = offset if offset > SAME_CLOCK or offset < -SAME_CLOCK else 0.0
        self._call_at = loop.call_at
        self._slots = {}
        self._handle_tick = 0

    def __reduce__(self):
        raise unpicklable(self)

    def add(self, timeout, item):
        """Have ``item.on_timeout()`` called once, after `timeout` seconds or up to a slot later.

        Returns the number of the slot, for `discard`.
        """
        return self._add(timeout, item)

    cdef long long _add(self, timeout, item) except -1:
        cdef double now = self._time()
        cdef double seconds = _seconds(timeout)
        cdef long long tick = _tick_of(now + seconds, seconds >= COARSE_FROM)
        cdef dict last
        with cython.critical_section(self):
            last = self._last  # a reference: the item's __hash__ may run code that closes the wheel
            if last is not None and tick == self._last_tick:
                last[item] = None
            else:
                # Code that removes a slot from the wheel also clears `_last`.
                self._last = self._put_at(tick, item)
                self._last_tick = tick
                if self._handle is None or tick < self._handle_tick:
                    self._schedule(tick)
        return tick

    def add_from_thread(self, timeout, item):
        """Do the same as `add`; for threads other than the loop's (see the Python twin)."""
        return self._add_from_thread(timeout, item)

    cdef inline double _now(self) except -1.0:
        return _monotonic() if self._is_system else <double> self.clock()

    cdef long long _add_from_thread(self, timeout, item) except -1:
        cdef double now = self._now()
        cdef double seconds = _seconds(timeout)
        cdef long long tick = _tick_of(now + self._offset + seconds, seconds >= COARSE_FROM)
        cdef bint is_earliest
        with cython.critical_section(self):
            self._put_at(tick, item)
            is_earliest = self._handle is None or tick < self._handle_tick
        if is_earliest:
            self._loop.call_soon_threadsafe(self._rearm)
        return tick

    cdef dict _put_at(self, tick, item):
        """Add `item` to the slot `tick`; returns the slot.

        Repeat it if the slot was removed from the wheel before the item was in it.
        """
        cdef dict slots = self._slots
        slot = None
        while slot is None or slots.get(tick) is not slot:
            slot = slots.get(tick)
            if slot is None:
                slot = slots.setdefault(tick, {})
            (<dict> slot)[item] = None
        return <dict> slot

    def discard(self, tick, item):
        """Remove `item` from the slot `tick`, if it is still there."""
        self._discard(tick, item)

    cdef int _discard(self, long long tick, item) except -1:
        with cython.critical_section(self):
            if tick == self._last_tick and self._last is not None:
                slot = self._last
            else:
                slot = self._slots.get(tick)
            if slot is not None:
                # The item is nearly always in the slot. This fails only if the item has expired.
                if PyDict_DelItem(slot, item) < 0:
                    PyErr_Clear()
                if not (<dict> slot) and tick != self._handle_tick:
                    self._slots.pop(tick, None)
                    self._last = None
                    if <dict> slot:  # another thread added an item just before we removed the slot
                        for late in list(slot):
                            self._put_at(tick, late)
        return 0

    def close(self):
        """Remove all items and cancel the loop's timer."""
        with cython.critical_section(self):
            handle = self._handle
            self._handle = None
            self._slots.clear()
            self._last = None
        if handle is not None:
            handle.cancel()

    def __len__(self):
        return sum(map(len, list(self._slots.values())))

    def _rearm(self):
        """Schedule the loop's timer for the earliest slot, if it is later or not set."""
        with cython.critical_section(self):
            ticks = list(self._slots)
            if ticks and (self._handle is None or min(ticks) < self._handle_tick):
                self._schedule(min(ticks))

    cdef int _schedule(self, tick) except -1:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_tick = tick
        # In an empty context, because the timer belongs to all requests.
        context = PyContext_New()
        PyContext_Enter(context)
        try:
            self._handle = self._call_at(tick * FINE, self._on_time)
        finally:
            PyContext_Exit(context)
        return 0

    def _on_time(self):
        """Called by the loop's timer: let items expire; if late, let the loop read first."""
        cdef double now = self._time()
        if now - <double> self._handle_tick * FINE <= LATE:
            self._expire()
        else:
            self._call_soon(self._after_reading)

    def _after_reading(self):
        """Let the items expire in the loop's next iteration, when the loop has read."""
        self._call_soon(self._expire)

    cdef int _call_soon(self, object function) except -1:
        call_soon = self._loop.call_soon
        with cython.critical_section(self):
            self._handle = call_soon(function)
        return 0

    def _expire(self):
        """Call `on_timeout` of all items whose time is over."""
        with cython.critical_section(self):
            self._handle = None
            self._last = None
            now = int(self._time() / FINE + 1e-6)
            due = [tick for tick in list(self._slots) if tick <= now or tick == self._handle_tick]
            expired = [item for tick in sorted(due) for item in list(self._slots.pop(tick))]
            self._handle_tick = 0
        self._rearm()
        for item in expired:
            try:
                item.on_timeout()
            except BaseException as error:  # go on with the other items
                log.exception("the end of a time limit could not be processed")
                item.fail(_as_exception(error))


cdef extern from "Python.h":
    enum: PyBUF_WRITABLE
    int PyObject_GetBuffer(object, Py_buffer*, int) except -1
    void PyBuffer_Release(Py_buffer*) noexcept
    int PyGC_Disable() noexcept
    int PyGC_Enable() noexcept

cdef extern from "own_answers.h":
    enum: C_NOTHING_THERE
    enum: C_TIME_IS_OVER
    enum: C_WAS_INTERRUPTED
    bint COLLECTS_IN_ALLOCATIONS "TURBOCQL_COLLECTS_IN_ALLOCATIONS"
    int wait_for_bytes "turbocql_wait_for_bytes"(
        int descriptor, int bell, int milliseconds
    ) noexcept nogil
    bint has_bytes "turbocql_has_bytes"(int descriptor) noexcept
    bint has_ended "turbocql_has_ended"(int descriptor) noexcept
    Py_ssize_t receive_now "turbocql_receive_now"(
        int descriptor, void* data, Py_ssize_t size
    ) noexcept nogil
    bint open_bell "turbocql_open_bell"(int* bell) noexcept
    void ring_bell "turbocql_ring_bell"(int* bell) noexcept
    void silence_bell "turbocql_silence_bell"(int* bell) noexcept
    void close_bell "turbocql_close_bell"(int* bell) noexcept

cdef enum:
    C_LEND_AFTER = 8
    C_LEND_AFTER_MOST = 4096
    C_WORTHWHILE = 32  # responses read in one loan
    C_LONGEST_POLL = 1000  # milliseconds
    C_MOST_READS = 1000  # how often we read from a connection that the peer has closed


cdef inline int _set_stream(responder, Py_ssize_t stream) except -1:
    if type(responder) is Attempt:
        (<Attempt> responder).stream = stream
    else:
        responder.stream = stream
    return 0


@cython.final
cdef class StreamTable:
    """The requests in flight on one connection, by their streams (see the Python twin).

    Only the loop's thread uses the table, except for direct requests, which other threads send.
    These threads need the lock `_framing` for `_frame`, and the lock called the claim (`_acquire`,
    `_release`) for `_send_directly`. Without a lock they only read numbers, which they check again
    when they hold the claim.

    `_direct` is the responder of the direct request; it is valid while `_has_direct` is set. The
    holder of the claim sets both if nothing is in flight, and the loop clears them when the
    response has arrived. If the connection is closed meanwhile, the thread that first exchanges
    `_has_direct` gets the responder.
    """

    cdef readonly object writer
    cdef FrameWriter _writer         # `writer` if it is of this class, else None
    cdef public object armed
    cdef int _closed                 # the loop and holders of the claim set these three attributes
    cdef int _paused
    cdef int _settled                # 1 if threads may write while nothing is in flight
    cdef int _epoch                  # changes whenever the keyspace may change
    cdef public Py_ssize_t orphans
    cdef public object rest          # the unsent part of a write by a thread
    cdef object _call_soon
    cdef object _flush
    cdef list _responders            # by stream; None if nobody waits for the response
    cdef int _taken                  # streams in use, without the stream of direct requests
    cdef Py_ssize_t _limit
    cdef Py_ssize_t _first           # all words of `_free` before this one are 0
    cdef uint64_t _free[C_WORDS]     # a bit for each stream: 1 if it is free
    cdef object _direct              # the responder on the stream of direct requests
    cdef int _has_direct             # 1 if a direct request is in flight
    cdef Py_ssize_t _direct_stream
    cdef object _add                 # methods of the writer of direct requests
    cdef object _take_frame
    cdef object _framing             # the lock of the writer of direct requests
    cdef bint _has_begun_frame       # the writer may still contain an unfinished frame
    cdef object _acquire             # methods of the claim, which is a lock
    cdef object _release
    cdef object _socket
    cdef int _descriptor
    cdef int _forks_when_opened      # the value of `_forks` when the socket was opened
    cdef object _wake
    cdef object _on_broken
    cdef bint _is_lent               # only threads that wait for direct requests read the socket
    cdef bint _is_awaited            # a thread that made a direct request waits for bytes now
    cdef bint _is_reading            # a thread that made a direct request uses the frame reader now
    cdef list _passed_on             # envelopes that these threads leave to the loop
    cdef object _reading_error       # the error after which nothing more can be read
    cdef readonly Py_ssize_t answers_read  # how many responses these threads have read
    cdef Py_ssize_t _waits_in_row    # direct requests in a row whose threads wait
    cdef Py_ssize_t _answers_before_loan  # `answers_read` when the reading was lent
    cdef Py_ssize_t _lend_after      # lend the reading after this many `_waits_in_row`
    cdef int _bell[2]                # ends a thread's wait for bytes (see own_answers.h)
    cdef object _get_buffer          # methods of the frame reader
    cdef object _buffer_updated
    cdef object _owner               # the connection

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no free streams.
        self._responders = []
        self._direct_stream = -1
        self._descriptor = -1
        self._lend_after = C_LEND_AFTER
        self._passed_on = []
        self._bell[0] = self._bell[1] = -1

    def __dealloc__(self):
        close_bell(self._bell)

    def __init__(self, writer, call_soon, flush):
        self.writer = writer
        self._writer = <FrameWriter> writer if type(writer) is FrameWriter else None
        self._call_soon = call_soon
        self._flush = flush
        self._responders = []
        self._limit = C_MAX_STREAMS
        self._first = 0
        memset(self._free, 0xFF, sizeof(self._free))

    cdef inline Py_ssize_t _count(self) noexcept:
        return load(&self._taken) + load(&self._has_direct)

    @property
    def closed(self):
        """True after the end of the connection."""
        return load(&self._closed) != 0

    @closed.setter
    def closed(self, value):
        store(&self._closed, 1 if value else 0)

    @property
    def paused(self):
        """True while the transport has paused its senders."""
        return load(&self._paused) != 0

    @paused.setter
    def paused(self, value):
        store(&self._paused, 1 if value else 0)

    @property
    def keyspace_epoch(self):
        """A number that changes whenever the keyspace of the connection may change."""
        return load(&self._epoch)

    @keyspace_epoch.setter
    def keyspace_epoch(self, value):
        store(&self._epoch, <int> (value & 0x7FFFFFFF))

    @property
    def settled(self):
        """True if threads may write directly, as soon as nothing is in flight."""
        return load(&self._settled) != 0

    @settled.setter
    def settled(self, value):
        store(&self._settled, 1 if value else 0)

    @property
    def in_flight(self):
        """The number of streams in use, by requests and by orphans."""
        return self._count()

    @property
    def limit(self):
        """The maximum number of streams."""
        return self._limit

    @limit.setter
    def limit(self, limit):
        cdef Py_ssize_t count = limit
        if not 0 < count <= C_MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {C_MAX_STREAMS}")
        self._limit = count

    @property
    def has_room(self):
        """True if a request may be sent now (see the Python twin)."""
        return self._has_room()

    cdef bint _has_room(self) except -1:
        if load(&self._closed) or load(&self._paused) or self._count() >= self._limit:
            return False
        if self._writer is not None:
            return self._writer._pending() < C_HIGH_WATER
        return <Py_ssize_t> self.writer.pending < C_HIGH_WATER

    cdef Py_ssize_t _take(self) noexcept:
        """Allocate and return the lowest free stream; -1 if all are in use."""
        cdef Py_ssize_t word = self._first
        cdef Py_ssize_t stream
        if self._count() >= self._limit:
            return -1
        while word < C_WORDS and self._free[word] == 0:
            word += 1
        self._first = word
        if word == C_WORDS:
            return -1
        stream = word * 64 + lowest_bit(self._free[word])
        self._free[word] &= self._free[word] - 1
        store(&self._taken, self._taken + 1)
        return stream

    cdef void _give_back(self, Py_ssize_t stream) noexcept:
        cdef Py_ssize_t word = stream >> 6
        self._free[word] |= (<uint64_t> 1) << (stream & 63)
        if word < self._first:
            self._first = word
        store(&self._taken, self._taken - 1)

    cdef bint _is_taken(self, Py_ssize_t stream) noexcept:
        return 0 <= stream < C_MAX_STREAMS and not (self._free[stream >> 6] >> (stream & 63)) & 1

    def send(self, responder, opcode, flags, body):
        """Queue a request, which is written at the end of this turn of the loop.

        Returns its stream, or -1 if no stream is free.
        """
        return self._send(responder, opcode, flags, body)

    cdef Py_ssize_t _send(self, responder, int opcode, int flags, body) except? -1:
        cdef Py_ssize_t stream
        cdef list responders
        if self._is_lent and not self._end_loan():
            return -1
        stream = self._take()
        responders = self._responders
        if stream < 0:
            return -1
        try:
            if self._writer is not None:
                self._writer._add(stream, opcode, flags, exact_bytes(body, "a body"))
            else:
                self.writer.add(stream, opcode, flags, body)
        except BaseException:
            self._give_back(stream)
            raise
        while PyList_GET_SIZE(responders) <= stream:
            responders.append(None)
        responders[stream] = responder
        if self.armed is None:
            # In an empty context, because it writes the requests of several callers.
            context = PyContext_New()
            PyContext_Enter(context)
            try:
                self.armed = self._call_soon(self._flush)
            finally:
                PyContext_Exit(context)
        self._waits_in_row = 0
        return stream

    cdef void _put_off_loans(self) noexcept:
        """Wait for more requests in a row before the next loan, if this one was of little use."""
        if self.answers_read - self._answers_before_loan >= C_WORTHWHILE:
            self._lend_after = C_LEND_AFTER
        elif self._lend_after < C_LEND_AFTER_MOST:
            self._lend_after *= 2

    def abandon(self, stream, responder):
        """Mark the stream as an orphan; returns False if it does not belong to `responder`."""
        cdef Py_ssize_t number = stream
        # The stream stays in use: a late response on a free stream would close the connection.
        if number >= 0 and number == self._direct_stream and self._waits_directly(responder):
            self._direct = _ORPHAN
        elif (
            0 <= number < PyList_GET_SIZE(self._responders)
            and self._responders[number] is responder
        ):
            self._responders[number] = None
        else:
            return False
        self.orphans += 1
        return True

    def waiting(self):
        """Return the responders that wait for responses; called on the loop."""
        waiting = [responder for responder in self._responders if responder is not None]
        direct = self._direct
        if load(&self._has_direct) and direct is not None and direct is not _ORPHAN:
            waiting.append(direct)
        return waiting

    def orphan_ids(self):
        """Return the streams in use whose responses nobody waits for any more."""
        cdef Py_ssize_t number
        orphans = set()
        if not self.orphans:
            return orphans
        for number in range(PyList_GET_SIZE(self._responders)):
            if number != self._direct_stream and self._is_taken(number):
                if self._responders[number] is None:
                    orphans.add(number)
        if self._waits_directly(_ORPHAN):
            orphans.add(self._direct_stream)
        return orphans

    cdef inline bint _waits_directly(self, responder) noexcept:
        return load(&self._has_direct) and self._direct is responder

    def dispatch(self, connection, envelopes):
        """Pass each of `envelopes` to the responder on its stream (see the Python twin)."""
        cdef tuple envelope
        cdef Py_ssize_t stream
        cdef Attempt attempt
        cdef RequestBase request
        version = _connection_version(connection)
        for item in <list?> envelopes:
            envelope = <tuple?> item
            if PyTuple_GET_SIZE(envelope) != 5:
                raise TypeError(f"an envelope of {len(envelope)} parts; it has 5")
            stream = envelope[0]
            if envelope[4] is not version and envelope[4] != version:
                connection.peer_version = envelope[4]
            if stream == self._direct_stream and load(&self._has_direct):
                responder = self._direct
                self._direct = None
                # Clear this last: from now on another thread may send a direct request.
                store(&self._has_direct, 0)
            # (A stream has no responder yet while `_send` is still writing its request.)
            elif (
                stream != self._direct_stream
                and self._is_taken(stream)
                and stream < PyList_GET_SIZE(self._responders)
            ):
                responder = self._responders[stream]
                self._responders[stream] = None
                self._give_back(stream)
                if responder is None:
                    responder = _ORPHAN
            else:
                responder = None
            if responder is _ORPHAN:
                self.orphans -= 1
            elif responder is not None:
                try:
                    if type(responder) is Attempt:
                        attempt = <Attempt> responder
                        # Keep a reference to the request here: when it ends, the attempt drops its
                        # reference, which may be the last reference.
                        request = attempt.request
                        if request is not None:
                            attempt.stream = -1
                            request._on_answer(
                                attempt, connection, envelope[1], envelope[2],
                                exact_bytes(envelope[3], "a body"),
                            )
                    else:
                        responder.on_response(connection, envelope[1], envelope[2], envelope[3])
                except BaseException as error:  # go on with the responses of other requests
                    log.exception("an answer of %s could not be processed", connection.endpoint)
                    failure = _as_exception(error)
                    if type(responder) is Attempt and (<Attempt> responder).request is not None:
                        (<Attempt> responder).request.fail(failure)
            else:
                connection.on_unsolicited(stream, envelope[1], envelope[2], envelope[3])
            if load(&self._closed):
                return

    def take_all(self):
        """Remove and return all responders that still wait. Called when the connection closes."""
        responders = [responder for responder in self._responders if responder is not None]
        if exchange(&self._has_direct, 0):
            if self._direct is not _ORPHAN:
                responders.append(self._direct)
            self._direct = None
        self._responders = []
        memset(self._free, 0xFF, sizeof(self._free))
        self._first = 0
        store(&self._taken, 0)
        self.orphans = 0
        return responders

    # -- direct requests -------------------------------------------------------------------------

    def open_direct(self, own_socket, writer, wake, on_broken):
        """Allow direct requests: other threads may write if nothing is in flight (see the Python
        twin).
        """
        cdef Py_ssize_t stream = self._take()
        cdef int descriptor
        if stream < 0:
            own_socket.close()
            return
        store(&self._taken, self._taken - 1)
        descriptor = own_socket.fileno()
        if self._limit == C_MAX_STREAMS:
            self._limit = C_MAX_STREAMS - 1
        self._add = writer.add
        self._take_frame = writer.take
        self._wake = wake
        self._on_broken = on_broken
        self._framing = _new_lock()
        claim = _new_lock()
        self._acquire = claim.acquire
        self._release = claim.release
        self._socket = own_socket
        self._descriptor = descriptor
        self._direct_stream = stream
        self._forks_when_opened = _forks

    @property
    def could_settle(self):
        """True if nothing is in flight, but `settled` is False (see the Python twin)."""
        if load(&self._settled) or self._acquire is None:
            return False
        return self._count() == 0 and self.rest is None

    @property
    def is_idle(self):
        """True if a thread may probably write a request now; only the claim makes that certain."""
        return self._is_idle()

    cdef inline bint _is_idle(self) noexcept:
        return (
            load(&self._settled)
            and not load(&self._closed)
            and not load(&self._paused)
            and self._count() == 0
        )

    def frame(self, opcode, flags, body):
        """Encode a request for `send_directly`; may be called from any thread.

        See the Python twin.
        """
        return self._frame(opcode, flags, body)

    cdef object _frame(self, opcode, flags, body):
        framing = self._framing
        if framing is None or framing.acquire(False) is False:
            return None
        try:
            # After an exception (in a signal handler or in compression), the writer may still
            # contain a frame. Drop it.
            if self._has_begun_frame:
                self._take_frame()
            self._has_begun_frame = True
            self._add(self._direct_stream, opcode, flags, body)
            frame = self._take_frame()
            self._has_begun_frame = False
            return frame
        finally:
            framing.release()

    def send_directly(self, responder, data, history, epoch=None):
        """Write `data`, which `frame` returned, if nothing is in flight; may be called from any
        thread (see the Python twin).
        """
        cdef int number = load(&self._epoch) if epoch is None else epoch
        return self._send_directly(responder, exact_bytes(data, "a frame"), history, number, False)

    cdef bint _send_directly(
        self, responder, bytes data, list history, int epoch, bint is_awaited
    ) except -1:
        cdef const char* start = PyBytes_AS_STRING(data)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
        cdef Py_ssize_t written = size
        cdef int descriptor
        cdef bint is_sent = False
        cdef bint has_news = False
        if self._acquire is None or not load(&self._settled) or self._acquire(False) is False:
            return False
        # No Python code may run while we hold the claim: a signal handler could wait for the loop.
        descriptor = self._descriptor
        try:
            if not self._is_idle() or descriptor < 0 or load(&self._epoch) != epoch:
                pass
            elif self._forks_when_opened != _forks:
                pass  # a forked child, in which the connection belongs to the parent
            elif self._is_lent and not is_awaited:
                pass  # the thread that sends the request must also read its response
            elif self._is_lent and has_bytes(descriptor):
                # Something has come that nobody waits for, such as the end of the stream. The loop
                # must handle it before anything is sent.
                has_news = True
            else:
                self._waits_in_row = self._waits_in_row + 1 if is_awaited else 0
                _set_stream(responder, self._direct_stream)
                history.append(responder)
                self._direct = responder
                exchange(&self._has_direct, 1)
                # The loop waits only briefly for the claim before it closes the connection. If the
                # connection is closed now, `take_all` may have missed this responder. In that case
                # nobody else would end the request, so do not send it.
                if load(&self._closed) and exchange(&self._has_direct, 0):
                    self._direct = None
                    history.pop()
                    _set_stream(responder, -1)
                else:
                    # The caller keeps `data` alive. The socket stays open, because only a holder of
                    # the claim closes it, and this thread holds it until `_release_claim`.
                    with nogil:
                        written = send_now(descriptor, start, size)
                    is_sent = True
            if written != size:
                self._leave_rest(data, written)
        finally:
            self._release_claim()
        if has_news:
            self._pass_on()
        return is_sent

    cdef int _leave_rest(self, bytes data, Py_ssize_t written) except -1:
        """Have the loop write the unsent rest of `data`, or handle the error -`written`."""
        store(&self._settled, 0)
        if written < 0:
            _call_on_loop(self._wake, (self._on_broken, -written))
        else:
            self.rest = data[written:]
            _call_on_loop(self._wake, (self._flush,))
        return 0  # if the loop is closed, the requests in flight are ended anyway

    # -- responses that callers read ---------------------------------------------------------------

    @property
    def is_lent(self):
        """True while only threads that wait for direct requests read the socket."""
        return self._is_lent

    @property
    def is_lendable(self):
        """True if callers come one at a time and wait, so that they should read themselves."""
        return (
            self._waits_in_row >= self._lend_after and not self._is_lent and not self._is_awaited
            and self._is_idle() and not IS_FREE_THREADED
        )

    def lend(self, owner, reader):
        """Let the thread of each direct request read the answer itself (see the Python twin)."""
        # No Python code may run while a thread reads.
        if IS_FREE_THREADED or load(&self._closed) or type(reader) is not _FrameReader:
            return False
        if self._bell[0] < 0 and not open_bell(self._bell):  # there is no free descriptor
            self._lend_after = C_LEND_AFTER_MOST
            self._waits_in_row = 0
            return False
        silence_bell(self._bell)
        self._owner = owner
        self._get_buffer = reader.get_buffer
        self._buffer_updated = reader.buffer_updated
        self._answers_before_loan = self.answers_read
        # Another thread may have sent a direct request just now, whose response it does not read.
        self._is_lent = self._is_idle() and not self._is_awaited
        return self._is_lent

    def take_back(self):
        """Let the loop read again (see the Python twin)."""
        if self._is_lent:
            self._put_off_loans()
        self._is_lent = False
        self._waits_in_row = 0
        if self._is_awaited:
            ring_bell(self._bell)
        return not self._is_reading

    def take_passed_on(self):
        """Return what threads leave to the loop, and why no more can be read (see the Python
        twin).
        """
        cdef int reads_left = C_MOST_READS
        # If the peer has closed the connection, read what it sent before. Otherwise the transport
        # reads it.
        while (
            reads_left > 0 and self._reading_error is None
            and self._descriptor >= 0 and has_ended(self._descriptor)
        ):
            reads_left -= 1
            self._passed_on += self._receive() or ()
        envelopes, self._passed_on = self._passed_on, []
        return envelopes, self._reading_error

    cdef bint _end_loan(self) except -1:
        """Let the loop read again. Return False if the connection is closed then."""
        self._owner.take_over()
        return not load(&self._closed)

    cdef void _drop_bell(self) noexcept:
        """Close the bell, because the connection is closed. A thread that waits closes it later."""
        if self._is_awaited:
            ring_bell(self._bell)
        else:
            close_bell(self._bell)

    cdef void _end_wait(self) noexcept:
        self._is_awaited = False
        if self._descriptor < 0:  # `_drop_bell` has left the bell to this thread
            close_bell(self._bell)

    cdef bint _read_answer(
        self, RequestBase request, Attempt attempt, connection, bint may_end
    ) except -1:
        """Wait for the answer to the direct request `attempt`, and end the request with it.

        Return False if the caller must wait until the loop ends the request: the reading is not
        lent, or the loop has taken it back, or something else than VOID or rows has come, or the
        caller must not end requests (`may_end`).
        """
        cdef int milliseconds = C_LONGEST_POLL
        cdef int outcome
        cdef bytes body = None
        if not self._is_lent or self._is_awaited or not self._waits_directly(attempt):
            return False
        if request.timeout is not None and request.timeout * 1000 < C_LONGEST_POLL:
            milliseconds = <int> (request.timeout * 1000) + 1
        on_done = request.on_done
        self._is_awaited = True
        try:
            # `take_back` ends this loop: it rings the bell. In a forked child, the response belongs
            # to the parent.
            while (
                self._is_lent and may_end and self._waits_directly(attempt)
                and self._descriptor >= 0 and self._forks_when_opened == _forks
            ):
                outcome = self._descriptor
                with nogil:
                    outcome = wait_for_bytes(outcome, self._bell[0], milliseconds)
                if outcome == C_WAS_INTERRUPTED:
                    PyErr_CheckSignals()  # a handler may fork
                elif outcome == C_TIME_IS_OVER:
                    break
                elif self._is_lent and self._descriptor >= 0:
                    # The steps down to `_end_wait` run no Python code and keep the GIL. So no
                    # signal interrupts them, and the loop either has the responder or never sees it
                    # again.
                    envelopes = self._receive()
                    if envelopes is None:  # no more can be read
                        break
                    if not envelopes and self._is_lent:
                        continue  # a part of the response has come
                    body = self._body_of(envelopes, attempt)
                    if body is None:
                        self._passed_on += envelopes
                        break
                    self._direct = None
                    store(&self._has_direct, 0)
                    self.answers_read += 1
                    attempt.stream = -1
                    self._end_wait()
                    if not self._is_lent or connection.gate is not None:
                        self._pass_on()
                    return self._finish(request, attempt, connection, body)
            if self._is_lent or self._passed_on or self._reading_error is not None:
                self._pass_on()
            return False
        except BaseException:
            # A signal handler has raised an error, for example. Nothing that was read is lost: the
            # loop ends the request, and looks for the remaining bytes even if this code is
            # interrupted, too.
            if body is not None:
                self._give_up(request, attempt, connection, body, on_done)
            self._pass_on()
            raise
        finally:
            if body is None:
                self._end_wait()

    cdef bint _finish(self, RequestBase request, Attempt attempt, connection, bytes body) except -1:
        """End the request with the answer in `body`, which nobody else has."""
        result = request._plain_result(attempt, connection, body)
        if result is None:  # the loop decodes the response again, and handles the error
            self._leave_answer(request, attempt, connection, body)
            return False
        attempt.latency = _now_of(request.session) - attempt.started
        request.is_ended_by_caller = True
        request._finish(result)
        return True

    cdef int _give_up(
        self, RequestBase request, Attempt attempt, connection, bytes body, on_done
    ) except -1:
        """Let the loop end the request, whose caller was interrupted after `body` had come.

        `on_done` is the function of that name that the request had before.
        """
        if not request.done:
            self._leave_answer(request, attempt, connection, body)
        elif on_done is not None:
            # The end of the request may be incomplete. It may be repeated.
            self._tell(on_done, (request,))
        return 0

    cdef int _leave_answer(
        self, RequestBase request, Attempt attempt, connection, bytes body
    ) except -1:
        """Let the loop end the request with the answer in `body`."""
        if not self._tell(connection.take_over_answer, (attempt, body)):
            request.fail(connection.refusal())
        return 0

    cdef list _receive(self):
        """Return the envelopes that the next bytes of the socket complete.

        Return None if no more can be read, and set `_reading_error` to the reason.
        """
        cdef Py_buffer memory
        cdef Py_ssize_t size
        # Up to Python 3.11, an allocation may start the garbage collector, which calls finalizers.
        cdef bint collects = COLLECTS_IN_ALLOCATIONS and PyGC_Disable()
        self._is_reading = True
        try:
            window = self._get_buffer(-1)
            PyObject_GetBuffer(window, &memory, PyBUF_WRITABLE)
            size = receive_now(self._descriptor, memory.buf, memory.len)
            PyBuffer_Release(&memory)
            window = None
            if size == C_NOTHING_THERE:
                return []
            if size > 0:
                return self._buffer_updated(size)
            self._reading_error = EOFError() if size == 0 else OSError(-size, _strerror(-size))
            return None
        except _ProtocolError as error:
            self._reading_error = error
            return None
        except BaseException:  # from a signal handler, or because there is no memory
            self._reading_error = _ProtocolError("a frame could not be read")
            raise
        finally:
            self._is_reading = False
            if collects:
                PyGC_Enable()

    cdef object _body_of(self, list envelopes, Attempt attempt):
        """Return the body if `envelopes` is only VOID or rows for `attempt`, without flags. Return
        None for anything else.
        """
        cdef tuple envelope
        cdef unsigned int kind
        if PyList_GET_SIZE(envelopes) != 1 or not self._waits_directly(attempt):
            return None
        envelope = <tuple> envelopes[0]
        body = envelope[3]
        if (
            envelope[0] != self._direct_stream or envelope[1] != OP_RESULT or envelope[2] != 0
            or type(body) is not bytes or PyBytes_GET_SIZE(body) < 4
        ):
            return None
        kind = get_be32(<const unsigned char*> PyBytes_AS_STRING(body))
        return body if kind == KIND_VOID or kind == KIND_ROWS else None

    cdef int _pass_on(self) except -1:
        """Let the loop handle what threads have left to it, and read from then on."""
        self._tell(self._owner.take_over, ())
        return 0

    cdef bint _tell(self, function, tuple arguments) except -1:
        """Call `function` on the loop. Return False if the loop is closed or the parent's."""
        return self._forks_when_opened == _forks and _call_on_loop(
            self._wake, (function, *arguments)
        )

    def acquire_write(self):
        """Keep other threads from writing until `release_write` (see the Python twin).

        Called on the loop. Returns False if another thread does not finish in time.
        """
        # Try without a timeout first, which is cheaper. Nearly always no thread is writing.
        return self._acquire is None or self._acquire(False) or self._acquire(True, PATIENCE)

    def release_write(self):
        """Release the lock that `acquire_write` took."""
        self._release_claim()

    cdef int _release_claim(self) except -1:
        """Release the claim; if the connection was closed meanwhile, close our socket too."""
        if self._release is None:
            return 0
        self._release()
        if load(&self._closed) and self._socket is not None and self._acquire(False) is True:
            own_socket = self._socket
            self._socket = None
            self._descriptor = -1
            self._is_lent = False
            self._drop_bell()
            self._release()
            if own_socket is not None:
                own_socket.close()
        return 0
