"""The native protocol: messages, frames and rows. This module offers the package's public names.

No module of this package uses a socket, an event loop or a clock.

A public name is imported from the module that defines it only when the name is first used (PEP
562). This avoids a circular import: the compiled modules import parts of this package while
`cassandra._impl` still chooses between the Python and the compiled implementation. If this module
imported everything at once, the compiled modules would see partly initialised modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import homes_of, lazy_names

if TYPE_CHECKING:
    from cassandra.errors import ProtocolError as ProtocolError
    from cassandra.protocol.column_specs import (
        ColumnMetadata as ColumnMetadata,
        ResultMetadata as ResultMetadata,
    )
    from cassandra.protocol.fileio import (
        read_binary_longstring as read_binary_longstring,
        read_binary_string as read_binary_string,
        read_byte as read_byte,
        read_bytesmap as read_bytesmap,
        read_consistency_level as read_consistency_level,
        read_error_code_map as read_error_code_map,
        read_inet as read_inet,
        read_inet_addr_only as read_inet_addr_only,
        read_int as read_int,
        read_longstring as read_longstring,
        read_short as read_short,
        read_string as read_string,
        read_stringlist as read_stringlist,
        read_stringmap as read_stringmap,
        read_stringmultimap as read_stringmultimap,
        read_uint_le as read_uint_le,
        read_value as read_value,
        write_byte as write_byte,
        write_bytesmap as write_bytesmap,
        write_consistency_level as write_consistency_level,
        write_inet as write_inet,
        write_int as write_int,
        write_long as write_long,
        write_longstring as write_longstring,
        write_short as write_short,
        write_string as write_string,
        write_stringlist as write_stringlist,
        write_stringmap as write_stringmap,
        write_stringmultimap as write_stringmultimap,
        write_uint as write_uint,
        write_uint_le as write_uint_le,
        write_value as write_value,
    )
    from cassandra.protocol.handler import (
        LazyProtocolHandler as LazyProtocolHandler,
        NumpyProtocolHandler as NumpyProtocolHandler,
        ProtocolHandler as ProtocolHandler,
        ProtocolHandlerBase,
        cython_protocol_handler as cython_protocol_handler,
    )
    from cassandra.protocol.messages.base import (
        MessageType,
        get_registered_classes as get_registered_classes,
        message_types_by_opcode as message_types_by_opcode,
        register_class as register_class,
    )
    from cassandra.protocol.messages.control import (
        AuthChallengeMessage as AuthChallengeMessage,
        AuthenticateMessage as AuthenticateMessage,
        AuthResponseMessage as AuthResponseMessage,
        AuthSuccessMessage as AuthSuccessMessage,
        CredentialsMessage as CredentialsMessage,
        OptionsMessage as OptionsMessage,
        ReadyMessage as ReadyMessage,
        RegisterMessage as RegisterMessage,
        StartupMessage as StartupMessage,
        SupportedMessage as SupportedMessage,
    )
    from cassandra.protocol.messages.errors import (
        AlreadyExistsException as AlreadyExistsException,
        BadCredentials as BadCredentials,
        CASWriteUnknownMessage as CASWriteUnknownMessage,
        CDCWriteException as CDCWriteException,
        ClientWriteError as ClientWriteError,
        ConfigurationException as ConfigurationException,
        ErrorMessage as ErrorMessage,
        ErrorMessageSub as ErrorMessageSub,
        ErrorMessageSubclass as ErrorMessageSubclass,
        FunctionFailureMessage as FunctionFailureMessage,
        InternalError as InternalError,
        InvalidPagingState as InvalidPagingState,
        InvalidRequestException as InvalidRequestException,
        IsBootstrappingErrorMessage as IsBootstrappingErrorMessage,
        NotSupportedError as NotSupportedError,
        OverloadedErrorMessage as OverloadedErrorMessage,
        PreparedQueryNotFound as PreparedQueryNotFound,
        ProtocolException as ProtocolException,
        RateLimitReachedException as RateLimitReachedException,
        ReadFailureMessage as ReadFailureMessage,
        ReadTimeoutErrorMessage as ReadTimeoutErrorMessage,
        RequestExecutionException as RequestExecutionException,
        RequestValidationException as RequestValidationException,
        ServerError as ServerError,
        SyntaxException as SyntaxException,
        TruncateError as TruncateError,
        UnauthorizedErrorMessage as UnauthorizedErrorMessage,
        UnavailableErrorMessage as UnavailableErrorMessage,
        WriteFailureMessage as WriteFailureMessage,
        WriteTimeoutErrorMessage as WriteTimeoutErrorMessage,
        error_classes as error_classes,
    )
    from cassandra.protocol.messages.events import (
        EventMessage as EventMessage,
        known_event_types as known_event_types,
    )
    from cassandra.protocol.messages.requests import (
        BatchMessage as BatchMessage,
        ExecuteMessage as ExecuteMessage,
        PrepareMessage as PrepareMessage,
        QueryMessage as QueryMessage,
        ReviseRequestMessage as ReviseRequestMessage,
        _QueryMessage as _QueryMessage,
    )
    from cassandra.protocol.messages.results import ResultMessage as ResultMessage
    from cassandra.protocol.opcodes import (
        COMPRESSED_FLAG as COMPRESSED_FLAG,
        CUSTOM_PAYLOAD_FLAG as CUSTOM_PAYLOAD_FLAG,
        CUSTOM_TYPE as CUSTOM_TYPE,
        HEADER_DIRECTION_MASK as HEADER_DIRECTION_MASK,
        HEADER_DIRECTION_TO_CLIENT as HEADER_DIRECTION_TO_CLIENT,
        RESULT_KIND_PREPARED as RESULT_KIND_PREPARED,
        RESULT_KIND_ROWS as RESULT_KIND_ROWS,
        RESULT_KIND_SCHEMA_CHANGE as RESULT_KIND_SCHEMA_CHANGE,
        RESULT_KIND_SET_KEYSPACE as RESULT_KIND_SET_KEYSPACE,
        RESULT_KIND_VOID as RESULT_KIND_VOID,
        TRACING_FLAG as TRACING_FLAG,
        USE_BETA_FLAG as USE_BETA_FLAG,
        USE_BETA_MASK as USE_BETA_MASK,
        WARNING_FLAG as WARNING_FLAG,
    )
    from cassandra.protocol.primitives import (
        header_pack as header_pack,
        int32_pack as int32_pack,
        uint8_pack as uint8_pack,
        uint16_pack as uint16_pack,
        uint32_le_pack as uint32_le_pack,
        uint32_pack as uint32_pack,
        uint64_pack as uint64_pack,
        v3_header_pack as v3_header_pack,
    )

    _MessageType = MessageType
    _ProtocolHandler = ProtocolHandlerBase

# Maps each module to the public names that it defines. Type checkers know these names from the
# imports above.
_HOME = homes_of(
    {
        "cassandra.errors": "ProtocolError",
        "cassandra.protocol.column_specs": "ColumnMetadata ResultMetadata",
        "cassandra.protocol.fileio": """
        read_binary_longstring read_binary_string read_byte read_bytesmap read_consistency_level
        read_error_code_map read_inet read_inet_addr_only read_int read_longstring read_short
        read_string read_stringlist read_stringmap read_stringmultimap read_uint_le read_value
        write_byte write_bytesmap write_consistency_level write_inet write_int write_long
        write_longstring write_short write_string write_stringlist write_stringmap
        write_stringmultimap write_uint write_uint_le write_value
        """,
        "cassandra.protocol.handler": """
        LazyProtocolHandler NumpyProtocolHandler ProtocolHandler _ProtocolHandler
        cython_protocol_handler
        """,
        "cassandra.protocol.messages.base": """
        _MessageType get_registered_classes message_types_by_opcode register_class
        """,
        "cassandra.protocol.messages.control": """
        AuthChallengeMessage AuthenticateMessage AuthResponseMessage AuthSuccessMessage
        CredentialsMessage OptionsMessage ReadyMessage RegisterMessage StartupMessage
        SupportedMessage
        """,
        "cassandra.protocol.messages.errors": """
        AlreadyExistsException BadCredentials CASWriteUnknownMessage CDCWriteException
        ClientWriteError ConfigurationException ErrorMessage ErrorMessageSub ErrorMessageSubclass
        FunctionFailureMessage InternalError InvalidRequestException IsBootstrappingErrorMessage
        NotSupportedError OverloadedErrorMessage PreparedQueryNotFound InvalidPagingState
        ProtocolException RateLimitReachedException ReadFailureMessage ReadTimeoutErrorMessage
        RequestExecutionException RequestValidationException ServerError SyntaxException
        TruncateError UnauthorizedErrorMessage UnavailableErrorMessage WriteFailureMessage
        WriteTimeoutErrorMessage error_classes
        """,
        "cassandra.protocol.messages.events": "EventMessage known_event_types",
        "cassandra.protocol.messages.requests": """
        BatchMessage ExecuteMessage PrepareMessage QueryMessage ReviseRequestMessage _QueryMessage
        """,
        "cassandra.protocol.messages.results": "ResultMessage",
        "cassandra.protocol.opcodes": """
        COMPRESSED_FLAG CUSTOM_PAYLOAD_FLAG CUSTOM_TYPE HEADER_DIRECTION_MASK
        HEADER_DIRECTION_TO_CLIENT RESULT_KIND_PREPARED RESULT_KIND_ROWS RESULT_KIND_SCHEMA_CHANGE
        RESULT_KIND_SET_KEYSPACE RESULT_KIND_VOID TRACING_FLAG USE_BETA_FLAG USE_BETA_MASK
        WARNING_FLAG
        """,
        "cassandra.protocol.primitives": """
        header_pack int32_pack uint8_pack uint16_pack uint32_le_pack uint32_pack uint64_pack
        v3_header_pack
        """,
    }
)
_RENAMED = {"_MessageType": "MessageType", "_ProtocolHandler": "ProtocolHandlerBase"}

# Set `__all__` indirectly, so that type checkers do not see it. They already export the names that
# are imported above with "as".
globals()["__all__"] = [*_HOME]

__getattr__ = lazy_names(__name__, _HOME, _RENAMED)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
