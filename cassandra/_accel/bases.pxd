# Checks whether a class has the fields that `fields.pxd` declares.

from cpython.object cimport PyObject

cdef bint reads_plainly(object kind, type base) except -1


cdef class Kind:
    cdef PyObject* plain
    cdef PyObject* also_plain
    cdef PyObject* other
    cdef type base
    cdef set _met            # keeps the classes alive: other threads may be comparing with them

    cdef bint meet(self, type kind) except -1
