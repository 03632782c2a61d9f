# What requests stand on: time limits, and the streams of one connection. Included by flight.pyx.

cdef class TimerWheel:
    """Deadlines of things that usually complete before them (see the Python twin)."""

    cdef object _time
    cdef object _call_at
    cdef dict _slots
    cdef object _handle
    cdef object _handle_tick
    # The slot that was added to last: requests of one turn mostly have the same.
    cdef long long _last_tick
    cdef set _last

    def __init__(self, loop):
        self._time = loop.time
        self._call_at = loop.call_at
        self._slots = {}
        self._handle_tick = 0

    def add(self, timeout, item):
        """Call ``item.on_timeout()`` once, `timeout` seconds from now or up to a slot later; returns the slot that `discard` takes."""
        return self._add(timeout, item)

    cdef long long _add(self, timeout, item) except -1:
        cdef double wanted
        cdef double now = self._time()
        cdef long long tick
        cdef set slot
        if type(timeout) is not float:
            timeout = float(timeout if timeout < LONGEST else LONGEST)
        wanted = timeout
        if not wanted < LONGEST:
            wanted = LONGEST
        tick = <long long> ((now + wanted) / FINE) + 1
        if wanted >= COARSE_FROM:
            tick += (FINE_TICKS_OF_COARSE - tick % FINE_TICKS_OF_COARSE) % FINE_TICKS_OF_COARSE
        if self._last is not None and tick == self._last_tick:
            self._last.add(item)
            return tick
        found = self._slots.get(tick)
        if found is None:
            slot = self._slots[tick] = set()
            if self._handle is None or tick < self._handle_tick:
                self._schedule(tick)
        else:
            slot = <set> found
        slot.add(item)
        self._last = slot
        self._last_tick = tick
        return tick

    def discard(self, tick, item):
        """Forget `item`, which `add` put into slot `tick`; nothing happens where it is gone."""
        self._discard(tick, item)

    cdef int _discard(self, long long tick, item) except -1:
        found = self._last if tick == self._last_tick and self._last is not None else self._slots.get(tick)
        if found is not None:
            (<set> found).discard(item)
            if not (<set> found) and tick != self._handle_tick:
                del self._slots[tick]
                self._last = None
        return 0

    def close(self):
        """Forget everything."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._slots.clear()
        self._last = None

    def __len__(self):
        return sum(map(len, self._slots.values()))

    cdef int _schedule(self, tick) except -1:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_tick = tick
        self._handle = self._call_at(tick * FINE, self._expire)
        return 0

    def _expire(self):
        self._handle = None
        self._last = None
        now = int(self._time() / FINE + 1e-6)
        due = [tick for tick in self._slots if tick <= now or tick == self._handle_tick]
        expired = [item for tick in sorted(due) for item in self._slots.pop(tick)]
        self._handle_tick = 0
        if self._slots:
            self._schedule(min(self._slots))
        for item in expired:
            try:
                item.on_timeout()
            except BaseException as error:  # what one of them raises is no reason to forget the others
                log.exception("the end of a time limit could not be processed")
                item.fail(_mishap(error))


@cython.final
cdef class StreamTable:
    """The requests under way on one connection, by their streams (see the Python twin)."""

    cdef readonly object writer
    cdef FrameWriter _writer         # the same, if it is of this class
    cdef public object armed
    cdef public bint closed
    cdef public bint paused
    cdef public Py_ssize_t orphans
    cdef object _call_soon
    cdef object _flush
    cdef list _responders            # by stream; None where nobody waits
    cdef readonly Py_ssize_t in_flight
    cdef Py_ssize_t _limit
    cdef Py_ssize_t _first           # no word before it has a free bit
    cdef uint64_t _free[C_WORDS]     # a bit for each stream that is free

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no stream to give.
        self._responders = []

    def __init__(self, writer, call_soon, flush):
        self.writer = writer
        self._writer = <FrameWriter> writer if type(writer) is FrameWriter else None
        self._call_soon = call_soon
        self._flush = flush
        self._responders = []
        self._limit = C_MAX_STREAMS
        self._first = 0
        memset(self._free, 0xFF, sizeof(self._free))

    @property
    def limit(self):
        """The greatest number of streams at a time."""
        return self._limit

    @limit.setter
    def limit(self, limit):
        cdef Py_ssize_t count = limit
        if not 0 < count <= C_MAX_STREAMS:
            raise ValueError(f"{limit} streams; a connection has 1 to {C_MAX_STREAMS}")
        self._limit = count

    @property
    def has_room(self):
        """Whether a request may be sent now (see the Python twin)."""
        return self._has_room()

    cdef bint _has_room(self) except -1:
        if self.closed or self.paused or self.in_flight >= self._limit:
            return False
        if self._writer is not None:
            return self._writer._pending() < C_HIGH_WATER
        return <Py_ssize_t> self.writer.pending < C_HIGH_WATER

    cdef Py_ssize_t _take(self) noexcept:
        """The lowest free stream, -1 where all are in use."""
        cdef Py_ssize_t word = self._first
        cdef Py_ssize_t stream
        if self.in_flight >= self._limit:
            return -1
        while word < C_WORDS and self._free[word] == 0:
            word += 1
        self._first = word
        if word == C_WORDS:
            return -1
        stream = word * 64 + lowest_bit(self._free[word])
        self._free[word] &= self._free[word] - 1
        self.in_flight += 1
        return stream

    cdef void _give_back(self, Py_ssize_t stream) noexcept:
        cdef Py_ssize_t word = stream >> 6
        self._free[word] |= (<uint64_t> 1) << (stream & 63)
        if word < self._first:
            self._first = word
        self.in_flight -= 1

    cdef bint _is_taken(self, Py_ssize_t stream) noexcept:
        return 0 <= stream < C_MAX_STREAMS and not (self._free[stream >> 6] >> (stream & 63)) & 1

    def send(self, responder, opcode, flags, body):
        """Queue one request for the end of this loop turn; returns its stream, -1 where none is free."""
        return self._send(responder, opcode, flags, body)

    cdef Py_ssize_t _send(self, responder, int opcode, int flags, body) except? -1:
        cdef Py_ssize_t stream = self._take()
        cdef list responders = self._responders
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
            self.armed = self._call_soon(self._flush)
        return stream

    def abandon(self, stream, responder):
        """Nobody waits for the answer on `stream` any more; False where `responder` is not the one that did."""
        cdef Py_ssize_t number = stream
        if number < 0 or number >= PyList_GET_SIZE(self._responders) or self._responders[number] is not responder:
            return False
        self._responders[number] = None
        self.orphans += 1
        return True

    def dispatch(self, connection, envelopes):
        """Give each of `envelopes` to whom it answers (see the Python twin)."""
        cdef tuple envelope
        cdef Py_ssize_t stream
        cdef Attempt attempt
        cdef RequestBase request
        version = _of(connection, _connection_places, C_VERSION, "version")
        for item in <list?> envelopes:
            envelope = <tuple?> item
            if PyTuple_GET_SIZE(envelope) != 5:
                raise TypeError(f"an envelope of {len(envelope)} parts; it has 5")
            stream = envelope[0]
            if envelope[4] is not version and envelope[4] != version:
                connection.peer_version = envelope[4]
            # A stream that is taken while its request is still being written has nobody yet.
            if self._is_taken(stream) and stream < PyList_GET_SIZE(self._responders):
                responder = self._responders[stream]
                self._responders[stream] = None
                self._give_back(stream)
                if responder is None:
                    self.orphans -= 1
                    continue
                try:
                    if type(responder) is Attempt:
                        attempt = <Attempt> responder
                        # Held here: at its end the attempt lets go of it, and perhaps nobody else has it.
                        request = attempt.request
                        if request is not None:
                            attempt.stream = -1
                            request._on_answer(
                                attempt, connection, envelope[1], envelope[2], exact_bytes(envelope[3], "a body")
                            )
                    else:
                        responder.on_response(connection, envelope[1], envelope[2], envelope[3])
                except BaseException as error:  # the answers behind it are for others
                    log.exception("an answer of %s could not be processed", connection.endpoint)
                    failure = _mishap(error)
                    if type(responder) is Attempt and (<Attempt> responder).request is not None:
                        (<Attempt> responder).request.fail(failure)
            else:
                connection.on_unsolicited(stream, envelope[1], envelope[2], envelope[3])
            if self.closed:
                return

    def take_all(self):
        """The responders that still wait, which the streams forgets: the connection is closed."""
        responders = [responder for responder in self._responders if responder is not None]
        self._responders = []
        memset(self._free, 0xFF, sizeof(self._free))
        self._first = 0
        self.in_flight = 0
        self.orphans = 0
        return responders
