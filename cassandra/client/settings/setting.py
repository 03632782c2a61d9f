"""`Setting`: one setting of a cluster, and the class decorator that makes a table of them.

The table is a class: each of its annotated attributes is a `Setting`. Type checkers read it as they
read a dataclass (PEP 681) and so know the constructor of the `Cluster` classes, which derive from
it, parameter by parameter, and the type of each attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from cassandra._imports import Deferred, import_module
from cassandra._misspelt import class_attribute
from cassandra._secrets import Secret
from cassandra.client.settings.docstrings import TextOfSetting
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    import inspect

    from typing_extensions import dataclass_transform
else:
    inspect = Deferred("inspect")

    def dataclass_transform(**kwargs):
        """Python has it since 3.11."""
        return lambda decorator: decorator


__all__ = ["ConstructorOnly", "Later", "Plain", "Setting", "settings_table"]

Given = TypeVar("Given")  # what a program may set
Kept = TypeVar("Kept")  # what it reads
T = TypeVar("T", bound=type)

Check = Callable[[str, Any], Any]


class Later:
    """A default that is imported when somebody asks for it.

    :param module: the module that has it.
    :param name: its name there.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self.name = name

    def load(self) -> object:
        """Return it."""
        found: object = getattr(import_module(self._module), self.name)
        return found


class Setting(Generic[Given, Kept]):
    """A setting: a parameter of the constructor of both `Cluster` classes, and an attribute.

    Its text is the docstring below it in the table.

    :param default: its value if a program gives none.
    :param check: called with the name and a value that is set; returns the value to keep, or raises
        an error that names both.
    :param none_is_default: True if None stands for the default. For other settings it is a value:
        to go without.
    :param may_precede: True if a value that a subclass sets before it calls the constructor stays,
        unless the constructor is given another. Other settings have their default then.
    :param is_live: True if the engine reads it each time it needs it, so that a change after
        `connect` acts. Other settings have done their work by then.
    :param is_secret: True if a value may hold a password.
    :param kw_only: True for a parameter that is a keyword only.
    :param then: the name of the cluster's method that is called after a change.
    :param factory: makes the value for each cluster, if a program gives nothing.
    :param made: the class name of the value that the driver makes later, for reports.
    :param reported: its place in the report that ScyllaDB gets (`cassandra.driver_config`).
    """

    __doc__ = TextOfSetting(__doc__)

    name: str

    def __init__(
        self,
        *,
        default: object,
        check: Check | None = None,
        none_is_default: bool = False,
        may_precede: bool = False,
        is_live: bool = False,
        is_secret: bool = False,
        kw_only: bool = False,
        then: str | None = None,
        factory: type[object] | Later | None = None,
        made: str | None = None,
        reported: str | None = None,
    ) -> None:
        self._default = default
        self._check = check
        self.none_is_default = none_is_default
        self._may_precede = may_precede
        self.is_live = is_live
        self.is_secret = is_secret
        self.kw_only = kw_only
        self._then = then
        self._factory = factory
        if factory is not None:
            made = factory.name if isinstance(factory, Later) else factory.__name__
        self.shown_default = f"<{made}>" if made is not None else None
        self.reported = reported

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, holder: None, owner: type | None) -> Kept: ...

    @overload
    def __get__(self, holder: object, owner: type | None) -> Kept: ...

    def __get__(self, holder: object, owner: type | None) -> Kept:
        if holder is None:
            value: Kept = self.default
            return value
        return self._read(holder)

    def __set__(self, holder: object, value: Given) -> None:
        value = self.hidden(value)  # first: an error shows local variables
        self._write(holder, self.checked(value))

    def __delete__(self, holder: object) -> None:
        # As `del` and tools that patch attributes expect: the default is back.
        vars(holder).pop(self.name, None)
        self._follow(holder)

    @property
    def default(self) -> Any:
        """Its value if a program gives none."""
        if isinstance(self._default, Later):
            self._default = self._default.load()
        return self._default

    @property
    def may_change(self) -> bool:
        """True if a change after `connect` acts."""
        return self.is_live or self._then is not None

    def hidden(self, value: object) -> Any:
        """Return `value`, as a `Secret` if it may hold a password.

        :param value: what a program gives.
        """
        if self.is_secret and isinstance(value, (Mapping, str, bytes, list, tuple)):
            return Secret(value)
        return value

    def checked(self, value: object) -> Any:
        """Return the value to keep.

        :param value: what a program gives.
        :raises TypeError: if it is of a wrong type.
        :raises ValueError: if it is out of range.
        """
        return value if self._check is None else self._check(self.name, value)

    def take_default(self, holder: object) -> None:
        """Check the default, if a subclass of the program's has one of its own.

        :param holder: the cluster.
        """
        if not self._may_precede:
            vars(holder).pop(self.name, None)
        default = self.hidden(getattr(holder, self.name))
        # The usual case. What the table itself says needs no check.
        if default is self.default:
            self._publish(holder)
            return
        checked = self.checked(default)
        if checked is not default:
            vars(holder)[self.name] = checked
        self._follow(holder)

    def make_default(self, holder: object) -> None:
        """Make the value for a cluster, if it has none and there is something to make.

        :param holder: the cluster.
        """
        if self._factory is not None and getattr(holder, self.name) is self.default:
            factory: Any = self._factory
            if isinstance(factory, Later):
                factory = factory.load()
            setattr(holder, self.name, factory())

    def _read(self, holder: object) -> Kept:
        value: Any = vars(holder).get(self.name, self.default)
        # Only here is it revealed, for whoever asks.
        return value.reveal() if isinstance(value, Secret) else value  # type: ignore[no-any-return]

    def _write(self, holder: object, value: object) -> None:
        # Under its own name: a program that patches the attribute of the class, or has one of its
        # own in a subclass, reads what was set here all the same.
        kept = vars(holder)
        before = kept.get(self.name, NOT_SET)
        kept[self.name] = (
            value.reveal()
            if isinstance(value, Secret) and class_attribute(type(holder), self.name) is not self
            else value
        )
        try:
            self._follow(holder)
        except BaseException:
            # What follows a change has refused it: what was there acts still, and is read.
            if before is NOT_SET:
                del kept[self.name]
            else:
                kept[self.name] = before
            self._publish(holder)
            raise

    def _follow(self, holder: object) -> None:
        """Do what follows a change."""
        self._publish(holder)
        if self._then is not None:
            getattr(holder, self._then)()

    def _publish(self, holder: object) -> None:
        """Let the engine see the value, if it reads it each time."""
        # A subclass may set it before it calls the constructor, which publishes it again.
        live: dict[str, object] | None = vars(holder).get("_live")
        if self.is_live and live is not None:
            live[self.name] = getattr(holder, self.name)

    def secret_of(self, holder: object) -> Secret[Kept]:
        """Return the value without revealing it.

        :param holder: the cluster.
        """
        kept = vars(holder).get(self.name)
        return kept if isinstance(kept, Secret) else Secret(getattr(holder, self.name))


Plain = Setting[Kept, Kept]
"""A setting that programs read as they have set it."""


class ConstructorOnly(Setting[Given, Kept]):
    """A parameter of the constructor that is not an attribute."""

    def __get__(self, holder: object, owner: type | None) -> Kept:
        raise AttributeError(f"Cluster has no attribute {self.name!r}: it is for the constructor")

    def __set__(self, holder: object, value: Given) -> None:
        self.__get__(holder, None)


@dataclass_transform(field_specifiers=(Setting, ConstructorOnly))
def settings_table(table: T) -> T:
    """Make a class a table of settings: it gets a constructor with a parameter for each.

    The constructor calls the method ``_configure`` with the settings that were given, by name.

    :param table: the class. Its settings are its annotated attributes, in their order.
    """
    kinds = vars(table)["__annotations__"]
    settings = {name: vars(table)[name] for name in kinds if not name.startswith("_")}
    made = _constructor(settings)
    made.__qualname__ = f"{table.__qualname__}.__init__"
    made.__module__ = table.__module__
    made.__annotations__ = {name: _given_kind(kinds[name]) for name in settings}
    shown = _SignatureOfTable(made, settings)
    for name, value in (("_table", settings), ("__init__", made), ("__signature__", shown)):
        # By name: type checkers have seen the class as it is without them.
        setattr(table, name, value)
    return table


class _SignatureOfTable:
    """The signature of classes that have the table's constructor, with the defaults of settings.

    The constructor itself has NOT_SET for each, to tell what a program gives from what it leaves
    out. It is made when somebody asks for it.

    :param constructor: the function.
    :param settings: the table.
    """

    def __init__(self, constructor: Any, settings: Mapping[str, Setting[Any, Any]]) -> None:
        self._constructor = constructor
        self._settings = settings

    def __get__(self, holder: object, owner: type) -> inspect.Signature:
        # A subclass may have a constructor of its own, which Python then looks at.
        if holder is not None or owner.__init__ is not self._constructor:  # type: ignore[misc]
            raise AttributeError("__signature__")
        whole = inspect.signature(self._constructor)
        _, *parameters = whole.parameters.values()
        return whole.replace(
            parameters=[
                one.replace(default=self._settings[one.name].default)
                if one.name in self._settings
                else one
                for one in parameters
            ]
        )


def _constructor(settings: Mapping[str, Setting[Any, Any]]) -> Any:
    """Return a function with a parameter for each setting, made as dataclasses make theirs.

    Tools see its signature, and Python itself tells of a parameter that is given twice.
    """
    by_position = [name for name, one in settings.items() if not one.kw_only]
    keywords = [name for name, one in settings.items() if one.kw_only]
    secrets = [name for name, one in settings.items() if one.is_secret]

    def given(values: dict[str, Any], unknown: Iterable[str]) -> dict[str, Any]:
        found = {
            name: settings[name].hidden(value)
            for name, value in values.items()
            if value is not NOT_SET
        }
        # Their names alone: one of them may be called "password".
        return found | dict.fromkeys(unknown)

    # The first statement hides passwords, the second one forgets them: errors in what follows show
    # local variables.
    source = (
        f"def __init__(self, {', '.join(f'{name}=NOT_SET' for name in by_position)}, *, "
        f"{', '.join(f'{name}=NOT_SET' for name in keywords)}, **settings):\n"
        f"    given = found({{{', '.join(f'{name!r}: {name}' for name in settings)}}}, settings)\n"
        f"    {' = '.join(secrets)} = settings = None\n"
        "    self._configure(given)\n"
    )
    room: dict[str, Any] = {"NOT_SET": NOT_SET, "found": given}
    exec(source, room)
    return room["__init__"]


def _given_kind(kind: str) -> str:
    """Return the type of what a program may set, from the annotation of a setting."""
    inside = kind.partition("[")[2].removesuffix("]")
    depth = 0
    for at, sign in enumerate(inside):
        # Types have commas of their own inside brackets.
        depth += (sign == "[") - (sign == "]")
        if sign == "," and not depth:
            return inside[:at]
    return inside
