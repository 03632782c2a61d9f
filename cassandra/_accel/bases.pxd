# Which classes have the fields that `fields.pxd` names.

cdef bint reads_plainly(object kind, type base) except -1


cdef class Kind:
    cdef type plain
    cdef type other
    cdef type base

    cdef bint meet(self, type kind) except -1
