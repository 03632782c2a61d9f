"""Constants of the native protocol: opcodes, flags and kinds, for requests and responses.

The sections in the comments below are sections of native_protocol_v5.spec.
"""

from __future__ import annotations

# Opcodes, section 2.4.1.4. CREDENTIALS only exists in version 1, and REVISE_REQUEST only in the
# protocol versions of DataStax Enterprise (DSE).
ERROR = 0x00
STARTUP = 0x01
READY = 0x02
AUTHENTICATE = 0x03
CREDENTIALS = 0x04
OPTIONS = 0x05
SUPPORTED = 0x06
QUERY = 0x07
RESULT = 0x08
PREPARE = 0x09
EXECUTE = 0x0A
REGISTER = 0x0B
EVENT = 0x0C
BATCH = 0x0D
AUTH_CHALLENGE = 0x0E
AUTH_RESPONSE = 0x0F
AUTH_SUCCESS = 0x10
REVISE_REQUEST = 0xFF

OPCODE_NAMES = {
    value: name
    for name, value in list(globals().items())
    if name.isupper() and isinstance(value, int)
}

# Envelope flags, section 2.4.1.2.
COMPRESSED_FLAG = 0x01
TRACING_FLAG = 0x02
CUSTOM_PAYLOAD_FLAG = 0x04
WARNING_FLAG = 0x08
USE_BETA_FLAG = 0x10
USE_BETA_MASK = ~USE_BETA_FLAG

HEADER_DIRECTION_TO_CLIENT = 0x80
HEADER_DIRECTION_MASK = 0x80

# Flags of QUERY and EXECUTE, section 4.1.4. BATCH has some of these flags.
FLAG_VALUES = 0x01
FLAG_SKIP_METADATA = 0x02
FLAG_PAGE_SIZE = 0x04
FLAG_PAGING_STATE = 0x08
FLAG_SERIAL_CONSISTENCY = 0x10
FLAG_TIMESTAMP = 0x20
FLAG_NAMED_VALUES = 0x40
FLAG_KEYSPACE = 0x80
FLAG_NOW_IN_SECONDS = 0x100

# Flag of PREPARE, section 4.1.5.
PREPARE_FLAG_KEYSPACE = 0x01

# Kinds of RESULT, section 4.2.5.
RESULT_KIND_VOID = 1
RESULT_KIND_ROWS = 2
RESULT_KIND_SET_KEYSPACE = 3
RESULT_KIND_PREPARED = 4
RESULT_KIND_SCHEMA_CHANGE = 5

# Flags of result metadata, section 4.2.5.2.
ROWS_GLOBAL_TABLES_SPEC = 0x01
ROWS_HAS_MORE_PAGES = 0x02
ROWS_NO_METADATA = 0x04
ROWS_METADATA_CHANGED = 0x08

# The option id of a custom type, section 4.2.5.2.
CUSTOM_TYPE = 0x0000

# In bytes. Section 2.4.1.5: "an envelope body is limited to 256MB in length".
MAX_BODY = 256 << 20
