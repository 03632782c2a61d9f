# Finds the settings of a request, which the call, the statement, the profile and the session may
# set: the compiled version of `cassandra.engine.resolving`. Included by happy_path.pyx.


cdef object _level(statement, BoundBase bound, tuple settings):
    if bound is None:
        level = statement.consistency_level
    else:
        level = value_of(&bound.consistency_level, bound, "consistency_level")
    return settings[S_CONSISTENCY] if level is None else level


cdef object _serial_level(statement, BoundBase bound, tuple settings):
    # If the statement is not a bound statement, read the property.
    if bound is None:
        level = statement.serial_consistency_level
    else:
        level = value_of(&bound._serial_consistency_level, bound, "serial_consistency_level")
    return settings[S_SERIAL] if level is None else level


cdef inline object _paging_state(options, CallBase call):
    if call is None:
        return options.paging_state
    return value_of(&call.paging_state, call, "paging_state")


cdef inline object _trace(options, CallBase call):
    return options.trace if call is None else value_of(&call.trace, call, "trace")


cdef object _page_size(statement, BoundBase bound, session):
    if bound is None:
        size = statement.fetch_size
    else:
        size = value_of(&bound.fetch_size, bound, "fetch_size")
    return session.default_fetch_size if size is _fetch_size_unset else size


cdef object _timestamp(session):
    generator = session.timestamp_generator
    if generator is None or not session.use_client_timestamp:
        return None
    if type(generator) is not _StockGenerator:
        return _generated(generator())
    clock = generator._clock
    return (<MicrosecondClock> clock)._next() if type(clock) is MicrosecondClock else generator()


cdef object _payload(statement, BoundBase bound, options, CallBase call):
    if call is None:
        payload = options.custom_payload
    else:
        payload = value_of(&call.custom_payload, call, "custom_payload")
    if bound is None:
        own = statement.custom_payload
    else:
        own = value_of(&bound.custom_payload, bound, "custom_payload")
    if not payload:
        payload = own
    elif own:
        # The request gets the keys of both payloads; the keys of the call take precedence.
        _check_payload(own)
        _check_payload(payload)
        payload = {**own, **payload}
    if payload is not None:
        _check_payload(payload)
        # Copy the payload, because each attempt encodes it, and the application may change its
        # mapping before a later attempt.
        payload = dict(payload)
    return payload


def resolve(body, session, statement, options):
    """Set the parameters of a request's body (see the Python twin).

    They come from the call, the statement, the profile or the session.
    """
    _resolve(body, session, statement, options)


cdef int _resolve(body, session, statement, options) except -1:
    return _resolve_from(
        body, session, statement, _bound_fields(statement), options, _call_fields(options),
        _settings_of(_profile_of(options)),
    )


# `bound` and `call` are `statement` and `options` if their fields can be read directly, else None.
# `settings` are the settings of the profile.
cdef int _resolve_from(
    body, session, statement, BoundBase bound, options, CallBase call, tuple settings
) except -1:
    cdef ExecuteBodyBase execute
    if isinstance(body, ExecuteBodyBase):
        execute = <ExecuteBodyBase> body
        execute.consistency = _level(statement, bound, settings)
        execute.serial_consistency = _serial_level(statement, bound, settings)
        execute.page_size = _page_size(statement, bound, session)
        execute.paging_state = _paging_state(options, call)
        execute.timestamp = _timestamp(session)
        execute.tracing = _trace(options, call)
        execute.custom_payload = _payload(statement, bound, options, call)
        return 0
    body.consistency = _level(statement, bound, settings)
    body.serial_consistency = _serial_level(statement, bound, settings)
    body.page_size = _page_size(statement, bound, session)
    body.paging_state = _paging_state(options, call)
    body.timestamp = _timestamp(session)
    body.tracing = _trace(options, call)
    body.custom_payload = _payload(statement, bound, options, call)
    return 0


def request_for(request_class, body, session, engine, statement, target, options, on_done):
    """Create the request that sends `body`, with its policies and timeout (see the Python twin)."""
    return _request_from(
        request_class, body, session, engine, statement, _bound_fields(statement), target, options,
        _call_fields(options), _settings_of(_profile_of(options)), on_done,
    )


cdef RequestBase _request_from(
    request_class, body, session, engine, statement, BoundBase bound, target, options,
    CallBase call, tuple settings, on_done
):
    cdef RequestBase request
    cdef PyObject* speculation
    cdef type request_type = <type?> request_class
    request = <RequestBase?> request_type.__new__(request_type)
    request.session = engine
    request.statement = target
    request.request_body = body
    request.policy = settings[S_BALANCING]
    if bound is None:
        request.is_idempotent = statement.is_idempotent
        retry_policy = statement.retry_policy
        vectors = statement.vector_type
    else:
        request.is_idempotent = value_of(&bound.is_idempotent, bound, "is_idempotent")
        retry_policy = value_of(&bound.retry_policy, bound, "retry_policy")
        vectors = value_of(&bound.vector_type, bound, "vector_type")
    if retry_policy:
        request.retry_policy = retry_policy
    else:
        request.retry_policy = settings[S_RETRY]
    speculation = item_of(<PyObject*> settings, S_SPECULATION)
    if type(<object> speculation) is not _NoSpeculation:
        request.speculative_policy = <object> speculation
    if call is None:
        timeout = options.timeout
        request.target = options.target
    else:
        timeout = value_of(&call.timeout, call, "timeout")
        request.target = value_of(&call.target, call, "target")
    request.timeout = settings[S_TIMEOUT] if timeout is _not_set else timeout
    request._row_factory = settings[S_ROW_FACTORY]
    request.on_done = on_done
    request.vectors = vectors or session._default_vector_type
    request._timer_slot = -1
    # Without observers and throttlers, a request only needs to compare these two pointers.
    if (
        item_of(<PyObject*> settings, S_OBSERVERS) != <PyObject*> _nobody
        or _session_attends(engine) is not False
    ):
        engine.attend(request, settings[S_OBSERVERS])
    return request


def bound_request(request_class, body_class, session, engine, statement, target, options, on_done):
    """Create the request for a bound statement, and encode it in the calling thread.

    See the Python twin.
    """
    return _bound_request(
        request_class, body_class, session, engine, statement, target, options, on_done
    )


cdef RequestBase _bound_request(
    request_class, body_class, session, engine, statement, target, options, on_done
):
    cdef ExecuteBodyBase body
    cdef type body_type = <type?> body_class
    cdef BoundBase bound = _bound_fields(statement)
    cdef CallBase call = _call_fields(options)
    cdef tuple settings = _settings_of(_profile_of(options))
    body = <ExecuteBodyBase?> body_type.__new__(body_type)
    if bound is None:
        body.prepared = statement.prepared_statement
        body.values = statement.block
    else:
        body.prepared = value_of(&bound.prepared_statement, bound, "prepared_statement")
        body.values = value_of(&bound.block, bound, "block")
    core = _session_core(engine)
    if _home_of(body.prepared) is not _core_home(core):
        body.prepared = core.preparer.own_statement(body.prepared)
    _resolve_from(body, session, statement, bound, options, call, settings)
    body._prerender(_core_wire_format(core))
    return _request_from(
        request_class, body, session, engine, statement, bound, target, options, call, settings,
        on_done,
    )
