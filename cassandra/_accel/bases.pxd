# Checks which classes have the fields that `fields.pxd` names.

from cpython.object cimport PyObject

cdef bint reads_plainly(object kind, type base) except -1


cdef class Kind:
    cdef PyObject* plain
    cdef PyObject* other
    cdef type base
    cdef set _met            # they stay: any thread may be comparing with them

    cdef bint meet(self, type kind) except -1
