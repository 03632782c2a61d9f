# cython: language_level=3, boundscheck=True, nonecheck=True, wraparound=False
# cython: initializedcheck=False, cdivision=True, binding=True
"""Private bases of classes whose attributes compiled code reads: the compiled twin of
`cassandra.bases`.

They are made by CPython's documented means: a type's specification whose members are
``T_OBJECT_EX``, which is what ``__slots__`` of a Python class makes too. Cython's own classes would
not do, because programs subclass, copy and patch what derives from these. An attribute of a ``cdef
class`` that is deleted becomes None, so that `unittest.mock.patch.object` does not put it back;
pickle and copy do not know it; ``object.__new__`` refuses the class; and Python code takes three
times as long to read it.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #include <structmember.h>
    #include "bases.h"

    /* The collector's functions, and the end of an object: the same for all classes, as their
     * objects hold nothing but pointers to objects. Subclasses, also those made in Python, come
     * here with their own attributes done. */
    static void turbocql_base_dealloc(PyObject *self);

    static PyObject **turbocql_end_of_fields(PyObject *self) {
        PyTypeObject *type = Py_TYPE(self);
        while (type->tp_dealloc != turbocql_base_dealloc)
            type = type->tp_base;
        return (PyObject **)((char *)self + type->tp_basicsize);
    }

    static int turbocql_base_traverse(PyObject *self, visitproc visit, void *arg) {
        PyObject **end = turbocql_end_of_fields(self);
        PyObject **field;
        Py_VISIT(Py_TYPE(self));
        for (field = (PyObject **)(self + 1); field < end; field++)
            Py_VISIT(*field);
        return 0;
    }

    static int turbocql_base_clear(PyObject *self) {
        PyObject **end = turbocql_end_of_fields(self);
        PyObject **field;
        for (field = (PyObject **)(self + 1); field < end; field++)
            Py_CLEAR(*field);
        return 0;
    }

    static void turbocql_base_dealloc(PyObject *self) {
        PyTypeObject *type = Py_TYPE(self);
        PyObject_GC_UnTrack(self);
        turbocql_base_clear(self);
        type->tp_free(self);
        Py_DECREF(type);
    }

    static PyType_Slot turbocql_base_slots[] = {
        {Py_tp_dealloc, turbocql_base_dealloc},
        {Py_tp_traverse, turbocql_base_traverse},
        {Py_tp_clear, turbocql_base_clear},
        {Py_tp_members, NULL},  /* filled for each class */
        {0, NULL},
    };

    static PyObject *turbocql_make_base(
        const char *name, PyObject *parent, Py_ssize_t size, PyMemberDef *members
    ) {
        PyType_Spec spec = {
            name, (int)size, 0,
            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, turbocql_base_slots,
        };
        PyObject *bases = PyTuple_Pack(1, parent);
        PyObject *made;
        if (bases == NULL)
            return NULL;
        turbocql_base_slots[3].pfunc = members;
        made = PyType_FromSpecWithBases(&spec, bases);
        Py_DECREF(bases);
        return made;
    }

    #define TURBOCQL_MEMBER(S, field) {#field, T_OBJECT_EX, offsetof(S, field), 0, NULL},
    #define TURBOCQL_MEMBERS(Name, OWN) \\
        static PyMemberDef turbocql_members_of_##Name[] = { \\
            OWN(TURBOCQL_MEMBER, turbocql_##Name) {NULL, 0, 0, 0, NULL} \\
        };
    #define TURBOCQL_CLASS(Name, parent) \\
        {"cassandra._accel.bases." #Name, parent, sizeof(turbocql_##Name), \\
         turbocql_members_of_##Name},

    TURBOCQL_MEMBERS(ColumnBase, TURBOCQL_OF_COLUMN)
    TURBOCQL_MEMBERS(FaultyBase, TURBOCQL_OF_FAULTY)
    TURBOCQL_MEMBERS(ColumnarBase, TURBOCQL_OF_COLUMNAR)
    TURBOCQL_MEMBERS(TableBase, TURBOCQL_OF_TABLE)

    typedef struct {
        const char *name;
        const char *parent;  /* a class that stands before it; NULL for `object` */
        Py_ssize_t size;
        PyMemberDef *members;
    } turbocql_class;

    static turbocql_class turbocql_classes[] = {
        TURBOCQL_CLASS(ColumnBase, NULL)
        TURBOCQL_CLASS(FaultyBase, NULL)
        TURBOCQL_CLASS(ColumnarBase, "FaultyBase")
        TURBOCQL_CLASS(TableBase, "ColumnarBase")
        {NULL, NULL, 0, NULL},
    };
    """
    struct PyMemberDef:
        const char* name

    ctypedef struct turbocql_class:
        const char* name
        const char* parent
        Py_ssize_t size
        PyMemberDef* members

    turbocql_class* turbocql_classes
    object turbocql_make_base(const char*, object, Py_ssize_t, PyMemberDef*)


cdef dict _make_classes():
    """Return the classes by their names."""
    cdef dict made = {}
    cdef turbocql_class* one = turbocql_classes
    cdef PyMemberDef* member
    while one.name != NULL:
        parent = made[one.parent.decode()] if one.parent != NULL else object
        kind = turbocql_make_base(one.name, parent, one.size, one.members)
        names = []
        member = one.members
        while member.name != NULL:
            names.append(member.name.decode())
            member += 1
        # Python's own copy and pickle look here for an object's attributes.
        kind.__slots__ = tuple(names)
        made[kind.__name__] = kind
        one += 1
    return made


globals().update(_make_classes())

__all__ = [
    "ColumnBase",
    "ColumnarBase",
    "FaultyBase",
    "TableBase",
]
