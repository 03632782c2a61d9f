# Which settings count for a request: the twin of `cassandra.engine.resolving`. Included by
# flight.pyx.


cdef object _level(statement, bint plain, tuple settings):
    level = _setting(statement, plain, _CONSISTENCY, "consistency_level")
    return settings[S_CONSISTENCY] if level is None else level


cdef object _serial_level(statement, bint plain, tuple settings):
    # Of a statement that is not a bound one, the property: its slot is that of another class.
    if plain:
        level = slot_value(statement, _SERIAL, "serial_consistency_level")
    else:
        level = statement.serial_consistency_level
    return settings[S_SERIAL] if level is None else level


cdef object _page_size(statement, bint plain, session):
    size = _setting(statement, plain, _FETCH_SIZE, "fetch_size")
    return session.default_fetch_size if size is _fetch_size_unset else size


cdef object _timestamp(session):
    generator = session.timestamp_generator
    if type(generator) is _StockGenerator and session.use_client_timestamp:
        clock = generator._clock
        if type(clock) is MicrosecondClock:
            return (<MicrosecondClock> clock)._next()
    return generator() if generator is not None and session.use_client_timestamp else None


cdef object _payload(statement, bint plain, options):
    payload = (
        _option(options, _PAYLOAD_OF_CALL, "custom_payload")
        or _setting(statement, plain, _CUSTOM_PAYLOAD, "custom_payload")
    )
    if payload is not None:
        _check_payload(payload)
    return payload


def resolve(body, session, statement, options):
    """Give a body the parameters of call, statement, profile and session (see the Python twin)."""
    _resolve(body, session, statement, options)


cdef int _resolve(body, session, statement, options) except -1:
    cdef ExecuteBodyBase execute
    cdef bint plain = type(statement) is _BoundStatement
    cdef tuple settings = _settings_of(_option(options, _PROFILE, "profile"))
    if isinstance(body, ExecuteBodyBase):
        execute = <ExecuteBodyBase> body
        execute.consistency = _level(statement, plain, settings)
        execute.serial_consistency = _serial_level(statement, plain, settings)
        execute.page_size = _page_size(statement, plain, session)
        execute.paging_state = _option(options, _PAGING_STATE, "paging_state")
        execute.timestamp = _timestamp(session)
        execute.tracing = _option(options, _TRACE, "trace")
        execute.custom_payload = _payload(statement, plain, options)
        return 0
    body.consistency = _level(statement, plain, settings)
    body.serial_consistency = _serial_level(statement, plain, settings)
    body.page_size = _page_size(statement, plain, session)
    body.paging_state = _option(options, _PAGING_STATE, "paging_state")
    body.timestamp = _timestamp(session)
    body.tracing = _option(options, _TRACE, "trace")
    body.custom_payload = _payload(statement, plain, options)
    return 0


def request_for(request_class, body, session, engine, statement, target, options, on_done):
    """Make the request that sends `body`, with its policies and its timeout (see the twin)."""
    return _request_for(request_class, body, session, engine, statement, target, options, on_done)


cdef RequestBase _request_for(
    request_class, body, session, engine, statement, target, options, on_done
):
    cdef RequestBase request
    cdef type request_type = <type?> request_class
    cdef bint plain = type(statement) is _BoundStatement
    cdef tuple settings = _settings_of(_option(options, _PROFILE, "profile"))
    request = <RequestBase?> request_type.__new__(request_type)
    request.session = engine
    request.statement = target
    request.request_body = body
    request.policy = settings[S_BALANCING]
    retry_policy = _setting(statement, plain, _RETRY, "retry_policy")
    request.retry_policy = retry_policy or settings[S_RETRY]
    speculation = settings[S_SPECULATION]
    if type(speculation) is not _NoSpeculation:
        request.speculative_policy = speculation
    timeout = _option(options, _TIMEOUT, "timeout")
    request.timeout = settings[S_TIMEOUT] if timeout is _not_set else timeout
    request.on_done = on_done
    request.target_host = _option(options, _HOST, "host")
    vectors = _setting(statement, plain, _VECTOR_TYPE, "vector_type")
    request.vectors = vectors or session._default_vector_type
    request._timer_slot = -1
    observers = settings[S_OBSERVERS]
    # Two pointers are compared: this is all that a request pays for observers and throttlers.
    if observers is not _nobody or _of(engine, _engine_places, E_ATTENDS, "attends") is not False:
        engine.attend(request, observers)
    return request


def bound_request(request_class, body_class, session, engine, statement, target, options, on_done):
    """Make the request for a bound statement, rendered in the calling thread (see the twin)."""
    return _bound_request(
        request_class, body_class, session, engine, statement, target, options, on_done
    )


cdef RequestBase _bound_request(
    request_class, body_class, session, engine, statement, target, options, on_done
):
    cdef ExecuteBodyBase body
    cdef type body_type = <type?> body_class
    cdef bint plain = type(statement) is _BoundStatement
    body = <ExecuteBodyBase?> body_type.__new__(body_type)
    body.prepared = _setting(statement, plain, _PREPARED, "prepared_statement")
    body.values = _setting(statement, plain, _BLOCK, "block")
    _resolve(body, session, statement, options)
    body._prerender(
        _of(_of(engine, _engine_places, E_CORE, "core"), _core_places, O_WIRE_FORMAT, "wire_format")
    )
    return _request_for(request_class, body, session, engine, statement, target, options, on_done)
