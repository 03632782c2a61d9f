"""Messages, frames and rows of the native protocol; the public names.

Nothing here has a socket, a loop or a clock. A name is imported from the module that defines it
when it is first used (PEP 562). The compiled modules import parts of this package while
`cassandra._impl` still chooses between the implementations: if all of it were imported here, they
would meet it half made.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra._lazy import lazy_names

if TYPE_CHECKING:
    from cassandra.errors import (
        ProtocolError as ProtocolError,
    )
    from cassandra.protocol.column_specs import (
        ColumnMetadata as ColumnMetadata,
    )
    from cassandra.protocol.column_specs import (
        ResultMetadata as ResultMetadata,
    )
    from cassandra.protocol.fileio import (
        read_binary_longstring as read_binary_longstring,
    )
    from cassandra.protocol.fileio import (
        read_binary_string as read_binary_string,
    )
    from cassandra.protocol.fileio import (
        read_byte as read_byte,
    )
    from cassandra.protocol.fileio import (
        read_bytesmap as read_bytesmap,
    )
    from cassandra.protocol.fileio import (
        read_consistency_level as read_consistency_level,
    )
    from cassandra.protocol.fileio import (
        read_error_code_map as read_error_code_map,
    )
    from cassandra.protocol.fileio import (
        read_inet as read_inet,
    )
    from cassandra.protocol.fileio import (
        read_inet_addr_only as read_inet_addr_only,
    )
    from cassandra.protocol.fileio import (
        read_int as read_int,
    )
    from cassandra.protocol.fileio import (
        read_longstring as read_longstring,
    )
    from cassandra.protocol.fileio import (
        read_short as read_short,
    )
    from cassandra.protocol.fileio import (
        read_string as read_string,
    )
    from cassandra.protocol.fileio import (
        read_stringlist as read_stringlist,
    )
    from cassandra.protocol.fileio import (
        read_stringmap as read_stringmap,
    )
    from cassandra.protocol.fileio import (
        read_stringmultimap as read_stringmultimap,
    )
    from cassandra.protocol.fileio import (
        read_uint_le as read_uint_le,
    )
    from cassandra.protocol.fileio import (
        read_value as read_value,
    )
    from cassandra.protocol.fileio import (
        write_byte as write_byte,
    )
    from cassandra.protocol.fileio import (
        write_bytesmap as write_bytesmap,
    )
    from cassandra.protocol.fileio import (
        write_consistency_level as write_consistency_level,
    )
    from cassandra.protocol.fileio import (
        write_inet as write_inet,
    )
    from cassandra.protocol.fileio import (
        write_int as write_int,
    )
    from cassandra.protocol.fileio import (
        write_long as write_long,
    )
    from cassandra.protocol.fileio import (
        write_longstring as write_longstring,
    )
    from cassandra.protocol.fileio import (
        write_short as write_short,
    )
    from cassandra.protocol.fileio import (
        write_string as write_string,
    )
    from cassandra.protocol.fileio import (
        write_stringlist as write_stringlist,
    )
    from cassandra.protocol.fileio import (
        write_stringmap as write_stringmap,
    )
    from cassandra.protocol.fileio import (
        write_stringmultimap as write_stringmultimap,
    )
    from cassandra.protocol.fileio import (
        write_uint as write_uint,
    )
    from cassandra.protocol.fileio import (
        write_uint_le as write_uint_le,
    )
    from cassandra.protocol.fileio import (
        write_value as write_value,
    )
    from cassandra.protocol.handler import (
        LazyProtocolHandler as LazyProtocolHandler,
    )
    from cassandra.protocol.handler import (
        NumpyProtocolHandler as NumpyProtocolHandler,
    )
    from cassandra.protocol.handler import (
        ProtocolHandler as ProtocolHandler,
    )
    from cassandra.protocol.handler import (
        ProtocolHandlerBase as _ProtocolHandler,
    )
    from cassandra.protocol.handler import (
        cython_protocol_handler as cython_protocol_handler,
    )
    from cassandra.protocol.messages.base import (
        MessageType as _MessageType,
    )
    from cassandra.protocol.messages.base import (
        get_registered_classes as get_registered_classes,
    )
    from cassandra.protocol.messages.base import (
        message_types_by_opcode as message_types_by_opcode,
    )
    from cassandra.protocol.messages.base import (
        register_class as register_class,
    )
    from cassandra.protocol.messages.control import (
        AuthChallengeMessage as AuthChallengeMessage,
    )
    from cassandra.protocol.messages.control import (
        AuthenticateMessage as AuthenticateMessage,
    )
    from cassandra.protocol.messages.control import (
        AuthResponseMessage as AuthResponseMessage,
    )
    from cassandra.protocol.messages.control import (
        AuthSuccessMessage as AuthSuccessMessage,
    )
    from cassandra.protocol.messages.control import (
        CredentialsMessage as CredentialsMessage,
    )
    from cassandra.protocol.messages.control import (
        OptionsMessage as OptionsMessage,
    )
    from cassandra.protocol.messages.control import (
        ReadyMessage as ReadyMessage,
    )
    from cassandra.protocol.messages.control import (
        RegisterMessage as RegisterMessage,
    )
    from cassandra.protocol.messages.control import (
        StartupMessage as StartupMessage,
    )
    from cassandra.protocol.messages.control import (
        SupportedMessage as SupportedMessage,
    )
    from cassandra.protocol.messages.errors import (
        AlreadyExistsException as AlreadyExistsException,
    )
    from cassandra.protocol.messages.errors import (
        BadCredentials as BadCredentials,
    )
    from cassandra.protocol.messages.errors import (
        CASWriteUnknownMessage as CASWriteUnknownMessage,
    )
    from cassandra.protocol.messages.errors import (
        CDCWriteException as CDCWriteException,
    )
    from cassandra.protocol.messages.errors import (
        ClientWriteError as ClientWriteError,
    )
    from cassandra.protocol.messages.errors import (
        ConfigurationException as ConfigurationException,
    )
    from cassandra.protocol.messages.errors import (
        ErrorMessage as ErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        ErrorMessageSub as ErrorMessageSub,
    )
    from cassandra.protocol.messages.errors import (
        ErrorMessageSubclass as ErrorMessageSubclass,
    )
    from cassandra.protocol.messages.errors import (
        FunctionFailureMessage as FunctionFailureMessage,
    )
    from cassandra.protocol.messages.errors import (
        InternalError as InternalError,
    )
    from cassandra.protocol.messages.errors import (
        InvalidPagingState as InvalidPagingState,
    )
    from cassandra.protocol.messages.errors import (
        InvalidRequestException as InvalidRequestException,
    )
    from cassandra.protocol.messages.errors import (
        IsBootstrappingErrorMessage as IsBootstrappingErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        NotSupportedError as NotSupportedError,
    )
    from cassandra.protocol.messages.errors import (
        OverloadedErrorMessage as OverloadedErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        PreparedQueryNotFound as PreparedQueryNotFound,
    )
    from cassandra.protocol.messages.errors import (
        ProtocolException as ProtocolException,
    )
    from cassandra.protocol.messages.errors import (
        RateLimitReachedException as RateLimitReachedException,
    )
    from cassandra.protocol.messages.errors import (
        ReadFailureMessage as ReadFailureMessage,
    )
    from cassandra.protocol.messages.errors import (
        ReadTimeoutErrorMessage as ReadTimeoutErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        RequestExecutionException as RequestExecutionException,
    )
    from cassandra.protocol.messages.errors import (
        RequestValidationException as RequestValidationException,
    )
    from cassandra.protocol.messages.errors import (
        ServerError as ServerError,
    )
    from cassandra.protocol.messages.errors import (
        SyntaxException as SyntaxException,
    )
    from cassandra.protocol.messages.errors import (
        TruncateError as TruncateError,
    )
    from cassandra.protocol.messages.errors import (
        UnauthorizedErrorMessage as UnauthorizedErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        UnavailableErrorMessage as UnavailableErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        WriteFailureMessage as WriteFailureMessage,
    )
    from cassandra.protocol.messages.errors import (
        WriteTimeoutErrorMessage as WriteTimeoutErrorMessage,
    )
    from cassandra.protocol.messages.errors import (
        error_classes as error_classes,
    )
    from cassandra.protocol.messages.events import (
        EventMessage as EventMessage,
    )
    from cassandra.protocol.messages.events import (
        known_event_types as known_event_types,
    )
    from cassandra.protocol.messages.requests import (
        BatchMessage as BatchMessage,
    )
    from cassandra.protocol.messages.requests import (
        ExecuteMessage as ExecuteMessage,
    )
    from cassandra.protocol.messages.requests import (
        PrepareMessage as PrepareMessage,
    )
    from cassandra.protocol.messages.requests import (
        QueryMessage as QueryMessage,
    )
    from cassandra.protocol.messages.requests import (
        ReviseRequestMessage as ReviseRequestMessage,
    )
    from cassandra.protocol.messages.requests import (
        _QueryMessage as _QueryMessage,
    )
    from cassandra.protocol.messages.results import (
        ResultMessage as ResultMessage,
    )
    from cassandra.protocol.opcodes import (
        COMPRESSED_FLAG as COMPRESSED_FLAG,
    )
    from cassandra.protocol.opcodes import (
        CUSTOM_PAYLOAD_FLAG as CUSTOM_PAYLOAD_FLAG,
    )
    from cassandra.protocol.opcodes import (
        CUSTOM_TYPE as CUSTOM_TYPE,
    )
    from cassandra.protocol.opcodes import (
        HEADER_DIRECTION_MASK as HEADER_DIRECTION_MASK,
    )
    from cassandra.protocol.opcodes import (
        HEADER_DIRECTION_TO_CLIENT as HEADER_DIRECTION_TO_CLIENT,
    )
    from cassandra.protocol.opcodes import (
        RESULT_KIND_PREPARED as RESULT_KIND_PREPARED,
    )
    from cassandra.protocol.opcodes import (
        RESULT_KIND_ROWS as RESULT_KIND_ROWS,
    )
    from cassandra.protocol.opcodes import (
        RESULT_KIND_SCHEMA_CHANGE as RESULT_KIND_SCHEMA_CHANGE,
    )
    from cassandra.protocol.opcodes import (
        RESULT_KIND_SET_KEYSPACE as RESULT_KIND_SET_KEYSPACE,
    )
    from cassandra.protocol.opcodes import (
        RESULT_KIND_VOID as RESULT_KIND_VOID,
    )
    from cassandra.protocol.opcodes import (
        TRACING_FLAG as TRACING_FLAG,
    )
    from cassandra.protocol.opcodes import (
        USE_BETA_FLAG as USE_BETA_FLAG,
    )
    from cassandra.protocol.opcodes import (
        USE_BETA_MASK as USE_BETA_MASK,
    )
    from cassandra.protocol.opcodes import (
        WARNING_FLAG as WARNING_FLAG,
    )
    from cassandra.protocol.primitives import (
        header_pack as header_pack,
    )
    from cassandra.protocol.primitives import (
        int32_pack as int32_pack,
    )
    from cassandra.protocol.primitives import (
        uint8_pack as uint8_pack,
    )
    from cassandra.protocol.primitives import (
        uint16_pack as uint16_pack,
    )
    from cassandra.protocol.primitives import (
        uint32_le_pack as uint32_le_pack,
    )
    from cassandra.protocol.primitives import (
        uint32_pack as uint32_pack,
    )
    from cassandra.protocol.primitives import (
        uint64_pack as uint64_pack,
    )
    from cassandra.protocol.primitives import (
        v3_header_pack as v3_header_pack,
    )

# The module that defines each name; the imports above tell type checkers the same.
_HOMES = {
    "cassandra.errors": ["ProtocolError"],
    "cassandra.protocol.column_specs": ["ColumnMetadata", "ResultMetadata"],
    "cassandra.protocol.fileio": [
        "read_binary_longstring",
        "read_binary_string",
        "read_byte",
        "read_bytesmap",
        "read_consistency_level",
        "read_error_code_map",
        "read_inet",
        "read_inet_addr_only",
        "read_int",
        "read_longstring",
        "read_short",
        "read_string",
        "read_stringlist",
        "read_stringmap",
        "read_stringmultimap",
        "read_uint_le",
        "read_value",
        "write_byte",
        "write_bytesmap",
        "write_consistency_level",
        "write_inet",
        "write_int",
        "write_long",
        "write_longstring",
        "write_short",
        "write_string",
        "write_stringlist",
        "write_stringmap",
        "write_stringmultimap",
        "write_uint",
        "write_uint_le",
        "write_value",
    ],
    "cassandra.protocol.handler": [
        "LazyProtocolHandler",
        "NumpyProtocolHandler",
        "ProtocolHandler",
        "_ProtocolHandler",
        "cython_protocol_handler",
    ],
    "cassandra.protocol.messages.base": [
        "_MessageType",
        "get_registered_classes",
        "message_types_by_opcode",
        "register_class",
    ],
    "cassandra.protocol.messages.control": [
        "AuthChallengeMessage",
        "AuthenticateMessage",
        "AuthResponseMessage",
        "AuthSuccessMessage",
        "CredentialsMessage",
        "OptionsMessage",
        "ReadyMessage",
        "RegisterMessage",
        "StartupMessage",
        "SupportedMessage",
    ],
    "cassandra.protocol.messages.errors": [
        "AlreadyExistsException",
        "BadCredentials",
        "CASWriteUnknownMessage",
        "CDCWriteException",
        "ClientWriteError",
        "ConfigurationException",
        "ErrorMessage",
        "ErrorMessageSub",
        "ErrorMessageSubclass",
        "FunctionFailureMessage",
        "InternalError",
        "InvalidRequestException",
        "IsBootstrappingErrorMessage",
        "NotSupportedError",
        "OverloadedErrorMessage",
        "PreparedQueryNotFound",
        "InvalidPagingState",
        "InvalidPagingState",
        "ProtocolException",
        "RateLimitReachedException",
        "ReadFailureMessage",
        "ReadTimeoutErrorMessage",
        "RequestExecutionException",
        "RequestValidationException",
        "ServerError",
        "SyntaxException",
        "TruncateError",
        "UnauthorizedErrorMessage",
        "UnavailableErrorMessage",
        "WriteFailureMessage",
        "WriteTimeoutErrorMessage",
        "error_classes",
    ],
    "cassandra.protocol.messages.events": ["EventMessage", "known_event_types"],
    "cassandra.protocol.messages.requests": [
        "BatchMessage",
        "ExecuteMessage",
        "PrepareMessage",
        "QueryMessage",
        "ReviseRequestMessage",
        "_QueryMessage",
    ],
    "cassandra.protocol.messages.results": ["ResultMessage"],
    "cassandra.protocol.opcodes": [
        "COMPRESSED_FLAG",
        "CUSTOM_PAYLOAD_FLAG",
        "CUSTOM_TYPE",
        "HEADER_DIRECTION_MASK",
        "HEADER_DIRECTION_TO_CLIENT",
        "RESULT_KIND_PREPARED",
        "RESULT_KIND_ROWS",
        "RESULT_KIND_SCHEMA_CHANGE",
        "RESULT_KIND_SET_KEYSPACE",
        "RESULT_KIND_VOID",
        "TRACING_FLAG",
        "USE_BETA_FLAG",
        "USE_BETA_MASK",
        "WARNING_FLAG",
    ],
    "cassandra.protocol.primitives": [
        "header_pack",
        "int32_pack",
        "uint8_pack",
        "uint16_pack",
        "uint32_le_pack",
        "uint32_pack",
        "uint64_pack",
        "v3_header_pack",
    ],
}
_RENAMED = {"_MessageType": "MessageType", "_ProtocolHandler": "ProtocolHandlerBase"}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "COMPRESSED_FLAG",
    "CUSTOM_PAYLOAD_FLAG",
    "CUSTOM_TYPE",
    "HEADER_DIRECTION_MASK",
    "HEADER_DIRECTION_TO_CLIENT",
    "RESULT_KIND_PREPARED",
    "RESULT_KIND_ROWS",
    "RESULT_KIND_SCHEMA_CHANGE",
    "RESULT_KIND_SET_KEYSPACE",
    "RESULT_KIND_VOID",
    "TRACING_FLAG",
    "USE_BETA_FLAG",
    "USE_BETA_MASK",
    "WARNING_FLAG",
    "AlreadyExistsException",
    "AuthChallengeMessage",
    "AuthResponseMessage",
    "AuthSuccessMessage",
    "AuthenticateMessage",
    "BadCredentials",
    "BatchMessage",
    "CASWriteUnknownMessage",
    "CDCWriteException",
    "ClientWriteError",
    "ColumnMetadata",
    "ConfigurationException",
    "CredentialsMessage",
    "ErrorMessage",
    "ErrorMessageSub",
    "ErrorMessageSubclass",
    "EventMessage",
    "ExecuteMessage",
    "FunctionFailureMessage",
    "InternalError",
    "InvalidRequestException",
    "IsBootstrappingErrorMessage",
    "LazyProtocolHandler",
    "NotSupportedError",
    "NumpyProtocolHandler",
    "OptionsMessage",
    "OverloadedErrorMessage",
    "PrepareMessage",
    "PreparedQueryNotFound",
    "ProtocolError",
    "ProtocolException",
    "ProtocolHandler",
    "QueryMessage",
    "RateLimitReachedException",
    "ReadFailureMessage",
    "ReadTimeoutErrorMessage",
    "ReadyMessage",
    "RegisterMessage",
    "RequestExecutionException",
    "RequestValidationException",
    "ResultMessage",
    "ResultMetadata",
    "ReviseRequestMessage",
    "ServerError",
    "StartupMessage",
    "SupportedMessage",
    "SyntaxException",
    "TruncateError",
    "UnauthorizedErrorMessage",
    "UnavailableErrorMessage",
    "WriteFailureMessage",
    "WriteTimeoutErrorMessage",
    "_MessageType",
    "_ProtocolHandler",
    "_QueryMessage",
    "cython_protocol_handler",
    "error_classes",
    "get_registered_classes",
    "header_pack",
    "int32_pack",
    "known_event_types",
    "message_types_by_opcode",
    "read_binary_longstring",
    "read_binary_string",
    "read_byte",
    "read_bytesmap",
    "read_consistency_level",
    "read_error_code_map",
    "read_inet",
    "read_inet_addr_only",
    "read_int",
    "read_longstring",
    "read_short",
    "read_string",
    "read_stringlist",
    "read_stringmap",
    "read_stringmultimap",
    "read_uint_le",
    "read_value",
    "register_class",
    "uint8_pack",
    "uint16_pack",
    "uint32_le_pack",
    "uint32_pack",
    "uint64_pack",
    "v3_header_pack",
    "write_byte",
    "write_bytesmap",
    "write_consistency_level",
    "write_inet",
    "write_int",
    "write_long",
    "write_longstring",
    "write_short",
    "write_string",
    "write_stringlist",
    "write_stringmap",
    "write_stringmultimap",
    "write_uint",
    "write_uint_le",
    "write_value",
]


__getattr__ = lazy_names(__name__, _HOME, _RENAMED)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
