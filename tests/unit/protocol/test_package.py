"""Test the public names of `cassandra.protocol`, and imports of its modules in different orders."""

from __future__ import annotations

import pytest

import cassandra.protocol
from tests.conftest import LANE
from tests.processes import run_python

# names that cassandra-driver documents, or that applications import from `cassandra.protocol`
DOCUMENTED = """
    AlreadyExistsException AuthChallengeMessage AuthResponseMessage AuthSuccessMessage
    AuthenticateMessage BadCredentials BatchMessage CDCWriteException COMPRESSED_FLAG
    CUSTOM_PAYLOAD_FLAG CUSTOM_TYPE ClientWriteError ConfigurationException CredentialsMessage
    ErrorMessage ErrorMessageSub ErrorMessageSubclass EventMessage ExecuteMessage
    FunctionFailureMessage HEADER_DIRECTION_MASK HEADER_DIRECTION_TO_CLIENT InternalError
    InvalidRequestException IsBootstrappingErrorMessage LazyProtocolHandler NotSupportedError
    NumpyProtocolHandler OptionsMessage OverloadedErrorMessage PrepareMessage PreparedQueryNotFound
    ProtocolException ProtocolHandler QueryMessage RESULT_KIND_PREPARED RESULT_KIND_ROWS
    RESULT_KIND_SCHEMA_CHANGE RESULT_KIND_SET_KEYSPACE RESULT_KIND_VOID RateLimitReachedException
    ReadFailureMessage ReadTimeoutErrorMessage ReadyMessage RegisterMessage
    RequestExecutionException RequestValidationException ResultMessage ReviseRequestMessage
    ServerError StartupMessage SupportedMessage SyntaxException TRACING_FLAG TruncateError
    USE_BETA_FLAG USE_BETA_MASK UnauthorizedErrorMessage UnavailableErrorMessage WARNING_FLAG
    WriteFailureMessage WriteTimeoutErrorMessage _ProtocolHandler cython_protocol_handler
    error_classes get_registered_classes header_pack int32_pack known_event_types
    read_binary_longstring read_binary_string read_byte read_bytesmap read_consistency_level
    read_error_code_map read_inet read_inet_addr_only read_int read_longstring read_short
    read_string read_stringlist read_stringmap read_stringmultimap read_uint_le read_value
    register_class uint16_pack uint32_le_pack uint32_pack uint64_pack uint8_pack v3_header_pack
    write_byte write_bytesmap write_consistency_level write_inet write_int write_long
    write_longstring write_short write_string write_stringlist write_stringmap write_stringmultimap
    write_uint write_uint_le write_value
"""


@pytest.mark.parametrize("name", [*DOCUMENTED.split(), *cassandra.protocol.__all__])
def test_every_documented_name_exists_and_names_the_public_module(name: str) -> None:
    """Each documented name exists, and classes name `cassandra.protocol` as their module."""
    value = getattr(cassandra.protocol, name)
    if isinstance(value, type) and value.__module__.startswith("cassandra.protocol"):
        assert value.__module__ == "cassandra.protocol"
        assert value.__qualname__ == name
    assert name in dir(cassandra.protocol)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """An unknown name of the module raises AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = cassandra.protocol.Nothing


@pytest.mark.skipif(LANE != "c", reason="no compiled modules in the pure Python lane")
@pytest.mark.parametrize(
    "first_import",
    [
        "protocol",
        "protocol.handler",
        "protocol.column_specs",
        "protocol.frame",
        "cqltypes",
        "_impl",
        "_accel.rows",
        "_accel.frame",
    ],
)
def test_compiled_modules_are_used_whatever_is_imported_first(first_import: str) -> None:
    """Compiled modules are used, whichever module is imported first.

    The modules import each other. In a wrong order, the import would fall back to Python modules.
    """
    code = f"import cassandra.{first_import}, cassandra._impl as impl\n"
    code += "print(impl.implementation, impl.fallback_reason)"
    process = run_python(code)
    assert process.stdout.split() == ["c", "None"], process.stdout + process.stderr
