"""Private bases of classes whose attributes compiled code reads: the compiled twin of
`cassandra.bases`.

We create the classes with CPython's documented API: a type specification with ``T_OBJECT_EX``
members, which are the same that ``__slots__`` of a Python class creates. A Cython ``cdef class`` is
not suitable, because applications subclass, copy and patch the classes that derive from these. If
an attribute of a ``cdef class`` is deleted, it becomes None, so `unittest.mock.patch.object` does
not restore it. Furthermore, pickle and copy do not see such an attribute, ``object.__new__``
rejects the class, and Python code takes three times as long to read the attribute.
"""

from cassandra._accel.checks cimport unpicklable
from cassandra._accel.threads cimport load_pointer, share, store_pointer

cdef extern from *:
    """
    #include <stddef.h>
    #include <structmember.h>
    #include "bases.h"

    /* Functions for the garbage collector and for deallocation. All classes share them, because
     * their objects contain only pointers to other objects. For an object of a subclass, Python
     * handles the attributes of the subclass first, and then calls these functions. */
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
        {Py_tp_members, NULL},  /* set for each class by turbocql_make_base */
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
    TURBOCQL_MEMBERS(SettingsBase, TURBOCQL_OF_SETTINGS)
    TURBOCQL_MEMBERS(StatementBase, TURBOCQL_OF_STATEMENT)
    TURBOCQL_MEMBERS(BoundBase, TURBOCQL_OF_BOUND)
    TURBOCQL_MEMBERS(PreparedBase, TURBOCQL_OF_PREPARED)
    TURBOCQL_MEMBERS(CallBase, TURBOCQL_OF_CALL)
    TURBOCQL_MEMBERS(ProfileBase, TURBOCQL_OF_PROFILE)
    TURBOCQL_MEMBERS(EngineBase, TURBOCQL_OF_ENGINE)
    TURBOCQL_MEMBERS(CoreBase, TURBOCQL_OF_CORE)
    TURBOCQL_MEMBERS(PoolBase, TURBOCQL_OF_POOL)
    TURBOCQL_MEMBERS(ConnectionBase, TURBOCQL_OF_CONNECTION)
    TURBOCQL_MEMBERS(ResultBase, TURBOCQL_OF_RESULT)
    TURBOCQL_MEMBERS(HostBase, TURBOCQL_OF_HOST)
    TURBOCQL_MEMBERS(MetadataBase, TURBOCQL_OF_METADATA)
    TURBOCQL_MEMBERS(PlanningBase, TURBOCQL_OF_PLANNING)
    TURBOCQL_MEMBERS(TimeBase, TURBOCQL_OF_TIME)
    TURBOCQL_MEMBERS(DayBase, TURBOCQL_OF_DAY)
    TURBOCQL_MEMBERS(DurationBase, TURBOCQL_OF_DURATION)
    TURBOCQL_MEMBERS(SetBase, TURBOCQL_OF_SET)
    TURBOCQL_MEMBERS(MapBase, TURBOCQL_OF_MAP)
    TURBOCQL_MEMBERS(KeyedMapBase, TURBOCQL_OF_KEYED_MAP)

    typedef struct {
        const char *name;
        const char *parent;  /* a class earlier in the list, or NULL for `object` */
        Py_ssize_t size;
        PyMemberDef *members;
    } turbocql_class;

    static turbocql_class turbocql_classes[] = {
        TURBOCQL_CLASS(ColumnBase, NULL)
        TURBOCQL_CLASS(FaultyBase, NULL)
        TURBOCQL_CLASS(ColumnarBase, "FaultyBase")
        TURBOCQL_CLASS(TableBase, "ColumnarBase")
        TURBOCQL_CLASS(SettingsBase, NULL)
        TURBOCQL_CLASS(StatementBase, "SettingsBase")
        TURBOCQL_CLASS(BoundBase, "StatementBase")
        TURBOCQL_CLASS(PreparedBase, "SettingsBase")
        TURBOCQL_CLASS(CallBase, NULL)
        TURBOCQL_CLASS(ProfileBase, NULL)
        TURBOCQL_CLASS(EngineBase, NULL)
        TURBOCQL_CLASS(CoreBase, NULL)
        TURBOCQL_CLASS(PoolBase, NULL)
        TURBOCQL_CLASS(ConnectionBase, NULL)
        TURBOCQL_CLASS(ResultBase, NULL)
        TURBOCQL_CLASS(HostBase, NULL)
        TURBOCQL_CLASS(MetadataBase, NULL)
        TURBOCQL_CLASS(PlanningBase, NULL)
        TURBOCQL_CLASS(TimeBase, NULL)
        TURBOCQL_CLASS(DayBase, NULL)
        TURBOCQL_CLASS(DurationBase, NULL)
        TURBOCQL_CLASS(SetBase, NULL)
        TURBOCQL_CLASS(MapBase, NULL)
        TURBOCQL_CLASS(KeyedMapBase, "MapBase")
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
    """Create all classes; returns them by name."""
    cdef dict classes = {}
    cdef turbocql_class* spec = turbocql_classes
    cdef PyMemberDef* member
    while spec.name != NULL:
        parent = classes[spec.parent.decode()] if spec.parent != NULL else object
        kind = turbocql_make_base(spec.name, parent, spec.size, spec.members)
        names = []
        member = spec.members
        while member.name != NULL:
            names.append(member.name.decode())
            member += 1
        # copy and pickle find an object's attributes by the `__slots__` of its class.
        kind.__slots__ = tuple(names)
        classes[kind.__name__] = kind
        spec += 1
    return classes


globals().update(_make_classes())


cdef bint reads_plainly(object kind, type base) except -1:
    """Return True if code may read the fields of `base` directly from objects of the class `kind`.

    That is so if `kind` derives from `base`, and no class overrides one of the attributes.
    """
    if base not in kind.__mro__:
        return False
    for owner in base.__mro__:
        for name in owner.__dict__.get("__slots__", ()):
            for other in kind.__mro__:
                if name in other.__dict__:
                    if other is not owner:
                        return False
                    break
    return True


cdef class Kind:
    """Remembers for which classes the fields of `base` can be read directly.

    `plain` and `also_plain` are the last two classes for which this is so: with several event
    loops, the sessions and engines of the further loops have a class of their own. `other` is the
    last class for which it is not so. `has_fields` compares an object's class with these first. A
    new class is examined by `meet`.
    """

    def __cinit__(self, *arguments, **named):
        self._met = set()
        share(self)  # each request uses several
        self.plain = self.also_plain = self.other = NULL

    def __init__(self, base):
        self.base = <type?> base

    def __reduce__(self):
        raise unpicklable(self)

    cdef bint meet(self, type kind) except -1:
        """Examine a class; returns True if it has the fields of `base` (see `reads_plainly`)."""
        cdef bint is_plain = reads_plainly(kind, self.base)
        self._met.add(kind)
        if is_plain:
            store_pointer(&self.also_plain, load_pointer(&self.plain))
            store_pointer(&self.plain, <PyObject*> kind)
        else:
            store_pointer(&self.other, <PyObject*> kind)
        return is_plain


__all__ = [
    "BoundBase",
    "CallBase",
    "ColumnBase",
    "ColumnarBase",
    "ConnectionBase",
    "CoreBase",
    "DayBase",
    "DurationBase",
    "EngineBase",
    "FaultyBase",
    "HostBase",
    "KeyedMapBase",
    "MapBase",
    "MetadataBase",
    "PlanningBase",
    "PoolBase",
    "PreparedBase",
    "ProfileBase",
    "ResultBase",
    "SetBase",
    "SettingsBase",
    "StatementBase",
    "TableBase",
    "TimeBase",
]
