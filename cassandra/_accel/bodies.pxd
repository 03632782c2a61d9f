# Encodes an EXECUTE, for compiled callers.

cdef bytes execute_of(
    object query_id, object metadata_id, object values, object consistency, object page_size,
    object paging_state, object serial_consistency, object timestamp, bint skip_metadata,
    int version,
)
