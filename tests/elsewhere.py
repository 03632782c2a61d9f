"""The unit tests that interpreters other than CPython skip, with the reasons.

``tox -e pypy`` runs the unit tests on PyPy. Tests that are not listed pass there, unless they need
a package that PyPy does not have. `tests.conftest` skips these tests.
"""

from __future__ import annotations

COUNTS = "objects go with their last reference: CPython counts them"
ORDER = "sets have the order of CPython"
DIGITS = "decimals go through texts there, under sys.set_int_max_str_digits"
BUILD = "extensions are for CPython"
MESSAGE = "the interpreter's own message"

# A test is skipped if its ID, "path::name" relative to tests/unit, begins with one of these keys.
# The values are the reasons.
REASONS = {
    "aio/test_concurrent.py::test_an_error_is_not_held": COUNTS,
    "client/test_configuration.py::test_bad_settings_of_tls": MESSAGE,
    "cluster/test_response_future_head_start.py::test_results_are_not_kept": COUNTS,
    "cqlengine/query/test_batch.py::test_a_batch_in_doubt_assigns_lists_of_inst": COUNTS,
    "cqlengine/query/test_unexecuted.py::test_a_": COUNTS,
    "cqltypes/codecs/test_base.py::test_the_class_methods_go_the_same_way": ORDER,
    "cqltypes/codecs/test_base.py::test_written_and_read": ORDER,
    "cqltypes/codecs/test_big_numbers.py::": DIGITS,
    "cqltypes/codecs/test_sharing.py::test_a_hundred_threads": ORDER,
    "cqltypes/test_failures.py::test_malformed_data": "lacks a limit of CPython's decimals",
    "cqltypes/test_failures.py::test_refusals": MESSAGE,
    "engine/prepare/test_registry.py::test_one_of_several": COUNTS,
    "engine/prepare/test_registry.py::test_statements_dropped": COUNTS,
    "engine/prepare/test_statements.py::test_a_host_that_comes_back": COUNTS,
    "engine/test_awaited.py::test_a_future_can_be_referenced_weakly": COUNTS,
    "engine/test_awaited.py::test_the_outcome_may_be_set_by_hand": MESSAGE,
    "engine/test_loop.py::test_without_descriptors": "opens /dev/urandom for itself",
    "faults/test_silence.py::test_blocking": "time-outs for compiled speed",
    "lifetimes/test_calls_at_the_end.py::test_blocking": COUNTS,
    "protocol/test_compression.py::test_errors_for_unknown_and_missing": "no lz4",
    "protocol/test_connection.py::test_the_handshake": "no lz4",
    "engine/test_happy_path_direct_requests.py::test_interrupts": "time-outs for compiled speed",
    "faults/test_faults_of_connections.py::test_a_server_that_stops": "time-outs for compiled speed",  # noqa: E501
    "testing/test_supervisor.py::test_everything_ends": "os has no pidfd_open",
    "test_concurrent.py::test_dropping_a_results_generator": COUNTS,
    "test_concurrent.py::test_no_reference_to_the_session_is_kept": COUNTS,
    "test_concurrent.py::test_an_error_is_not_held": COUNTS,
    "test_cython_deps.py::test_what_is_there": "no numpy",
    "test_impl.py::": BUILD,
    "test_import_cost.py::test_import_pulls_in_nothing_optional": "ssl is made with cffi",
    "_compat/test_stats.py::test_a_collection_of_a_program_s_own": COUNTS,
    "test_twins.py::test_the_lane_is_what_it_says": BUILD,
}


def reason_of(node_id: str) -> str | None:
    """Return the reason why interpreters other than CPython skip a test; None if they run it."""
    name = node_id.partition("tests/unit/")[2]
    return next((reason for prefix, reason in REASONS.items() if name.startswith(prefix)), None)
