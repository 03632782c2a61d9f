"""`Setting` describes one setting of a cluster, and `settings_table` decorates a table of settings.

The table is a class whose annotated attributes are the settings. Type checkers treat it like a
dataclass (PEP 681). So type checkers know the type of each attribute, and the parameters of the
`Cluster` classes, which inherit the table's constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from cassandra._imports import Deferred, import_module
from cassandra._misspelt import class_attribute
from cassandra._secrets import Secret
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    import inspect
    from types import FunctionType

    from typing_extensions import dataclass_transform
else:
    inspect = Deferred("inspect")

    def dataclass_transform(**kwargs):
        """Return a decorator that changes nothing: only type checkers need the real function."""
        return lambda decorator: decorator


Settable = TypeVar("Settable")  # the type that an application may set
Stored = TypeVar("Stored")  # the type that the application reads
T = TypeVar("T", bound=type)

# A function that checks the value of a setting. It is called with the setting's name and value.
Check = Callable[[str, Any], object]


class Later:
    """A default value that is imported when the default is first used.

    :param module: the module that contains the default value.
    :param name: the name of the value in that module.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self.name = name

    def load(self) -> object:
        """Import and return the default value."""
        return getattr(import_module(self._module), self.name)


class Setting(Generic[Settable, Stored]):
    """A setting is a parameter of the constructor of both `Cluster` classes, and an attribute.

    :param default: the value if the application does not set the setting.
    :param doc: the docstring of the setting, for the reference and for `help`.
    :param default_text: the default as shown in the docstrings of the `Cluster` classes. Only
        needed if the default is not a literal or a class, and should be shown.
    :param check: called with the setting's name and a new value; returns the value to store, or
        raises an error whose message contains both.
    :param none_is_default: True if None means the default. Otherwise None is itself a value of the
        setting, for example for no limit.
    :param may_precede: True if a subclass may set the attribute before it calls the constructor.
        The constructor then keeps the value, unless another value is passed to the constructor. For
        other settings, the constructor replaces such a value by the default.
    :param is_live: True if the engine reads the setting each time it needs it, so that a change
        after `connect` has an effect. Other settings are read only once.
    :param is_secret: True if a value may contain a password.
    :param kw_only: True for a keyword-only parameter.
    :param then: the name of a method of the cluster to call after a change.
    :param factory: creates the value for each cluster whose application does not set one.
    :param class_name: for reports, the class name of a value that the driver creates later.
    :param reported: the path of the setting in the report to ScyllaDB (`cassandra.driver_config`).
    """

    name: str

    def __init__(
        self,
        *,
        default: object,
        doc: str | None = None,
        default_text: str = "",
        check: Check | None = None,
        none_is_default: bool = False,
        may_precede: bool = False,
        is_live: bool = False,
        is_secret: bool = False,
        kw_only: bool = False,
        then: str | None = None,
        factory: type[object] | Later | None = None,
        class_name: str | None = None,
        reported: str | None = None,
    ) -> None:
        self.__doc__ = doc
        self.default_text = default_text
        self._default: Any = default
        self._check = check
        self.none_is_default = none_is_default
        self._may_precede = may_precede
        self.is_live = is_live
        self.is_secret = is_secret
        self.kw_only = kw_only
        self._method_after_change = then  # the name of the method to call, or None
        self._factory = factory
        if factory is not None:
            class_name = factory.name if isinstance(factory, Later) else factory.__name__
        self.shown_default = f"<{class_name}>" if class_name is not None else None
        self.reported = reported

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, holder: None, owner: type | None) -> Stored: ...

    @overload
    def __get__(self, holder: object, owner: type | None) -> Stored: ...

    def __get__(self, holder: object, owner: type | None) -> Stored:
        if holder is None:
            return self.default
        return self._read(holder)

    def __set__(self, holder: object, value: Settable) -> None:
        # Wrap a secret first, because tracebacks of errors below may show local variables.
        value = self.hidden(value)
        self._write(holder, self.checked(value))

    def __delete__(self, holder: object) -> None:
        # Restore the default: after a test, `unittest.mock.patch` deletes an attribute that it has
        # set.
        vars(holder).pop(self.name, None)
        self._follow(holder)

    @property
    def default(self) -> Stored:
        """The value if the application does not set the setting."""
        if isinstance(self._default, Later):
            self._default = self._default.load()
        default: Stored = self._default
        return default

    @property
    def may_change(self) -> bool:
        """True if a change after `connect` has an effect."""
        return self.is_live or self._method_after_change is not None

    def hidden(self, value: object) -> Any:
        """Return `value`, wrapped in a `Secret` if it may contain a password.

        :param value: the application's value.
        """
        if self.is_secret and isinstance(value, (Mapping, str, bytes, list, tuple)):
            return Secret(value)
        return value

    def checked(self, value: object) -> object:
        """Check a new value, and return the value to store.

        :param value: the application's value.
        :raises TypeError: if it has a wrong type.
        :raises ValueError: if it is out of range.
        """
        return value if self._check is None else self._check(self.name, value)

    def take_default(self, holder: object) -> None:
        """Use the default, because no value was passed to the constructor.

        If a user's subclass has replaced the default, the new default is checked first.

        :param holder: the cluster.
        """
        # Remove a value that a subclass has set before it called the constructor, unless
        # `may_precede` allows such a value.
        if not self._may_precede:
            vars(holder).pop(self.name, None)
        default = self.hidden(getattr(holder, self.name))
        # The default in the table is valid, so it needs no check.
        if default is self.default:
            self._publish(holder)
            return
        checked = self.checked(default)
        if checked is not default:
            vars(holder)[self.name] = checked
        self._follow(holder)

    def make_default(self, holder: object) -> None:
        """Create the value for a cluster that has no value, if the setting has a factory.

        :param holder: the cluster.
        """
        if self._factory is not None and getattr(holder, self.name) is self.default:
            factory: Any = self._factory
            if isinstance(factory, Later):
                factory = factory.load()
            setattr(holder, self.name, factory())

    def _read(self, holder: object) -> Stored:
        value: Any = vars(holder).get(self.name, self._default)
        if isinstance(value, (Secret, Later)):
            # Reveal a secret only here, for the code that reads the setting.
            return value.reveal() if isinstance(value, Secret) else self.default
        return value  # type: ignore[no-any-return]

    def _write(self, holder: object, value: object) -> None:
        """Store a checked value in the cluster `holder`, and let the cluster react to it."""
        # Store the value in the cluster's `__dict__` under the setting's name. So if an application
        # has replaced the descriptor by a plain class attribute, it can still read the value from
        # the cluster. In that case, store a secret without its `Secret`, because no descriptor
        # would reveal the secret on reading.
        attributes = vars(holder)
        previous = attributes.get(self.name, NOT_SET)
        attributes[self.name] = (
            value.reveal()
            if isinstance(value, Secret) and class_attribute(type(holder), self.name) is not self
            else value
        )
        try:
            self._follow(holder)
        except BaseException:
            # The method that the parameter `then` names has rejected the value: restore the
            # previous value.
            if previous is NOT_SET:
                del attributes[self.name]
            else:
                attributes[self.name] = previous
            self._publish(holder)
            raise

    def _follow(self, holder: object) -> None:
        """After a change, publish the value, and call the cluster's method that `then` names."""
        self._publish(holder)
        if self._method_after_change is not None:
            getattr(holder, self._method_after_change)()

    def _publish(self, holder: object) -> None:
        """Store the value in `_live`, where the engine reads live settings."""
        # If a subclass sets the value before it calls the constructor, `_live` does not exist yet.
        # The constructor publishes the value later.
        live: dict[str, object] | None = vars(holder).get("_live")
        if self.is_live and live is not None:
            live[self.name] = getattr(holder, self.name)

    def secret_of(self, holder: object) -> Secret[Stored]:
        """Return the value wrapped in a `Secret`.

        :param holder: the cluster.
        """
        value = vars(holder).get(self.name)
        return value if isinstance(value, Secret) else Secret(getattr(holder, self.name))


Plain = Setting[Stored, Stored]
"""A setting whose value has the same type when it is set and when it is read."""


class ConstructorOnly(Setting[Settable, Stored]):
    """A parameter of the constructor that you cannot read or set as an attribute."""

    def __get__(self, holder: object, owner: type | None) -> Stored:
        raise AttributeError(f"Cluster has no attribute {self.name!r}: it is for the constructor")

    def __set__(self, holder: object, value: Settable) -> None:
        self.__get__(holder, None)


@dataclass_transform(field_specifiers=(Setting, ConstructorOnly))
def settings_table(table: T) -> T:
    """Convert a class to a table of settings: add a constructor with a parameter for each setting.

    The constructor calls the method ``_configure`` with a dict of the settings that were passed.

    :param table: the class. Its settings are its annotated public attributes, in order.
    """
    annotations = vars(table)["__annotations__"]
    settings = {name: vars(table)[name] for name in annotations if not name.startswith("_")}
    constructor = _make_constructor(settings)
    constructor.__qualname__ = f"{table.__qualname__}.__init__"
    constructor.__module__ = table.__module__
    constructor.__annotations__ = {name: _settable_type(annotations[name]) for name in settings}
    signature = _SignatureOfTable(constructor, settings)
    for name, value in (
        ("_table", settings),
        ("__init__", constructor),
        ("__signature__", signature),
    ):
        # Use setattr to hide these attributes from type checkers.
        setattr(table, name, value)
    return table


class _SignatureOfTable:
    """The descriptor `__signature__` of a table of settings, which `inspect.signature` reads.

    A table of settings is a class whose attributes are `Setting` objects. In its generated
    constructor, each parameter has the default NOT_SET, so that the constructor knows which
    parameters were passed. The signature that this descriptor returns shows the defaults of the
    settings instead.

    :param constructor: the generated ``__init__`` of the table.
    :param settings: the settings of the table by name.
    """

    def __init__(self, constructor: Any, settings: Mapping[str, Setting[Any, Any]]) -> None:
        self._constructor = constructor
        self._settings = settings

    def __get__(self, holder: object, owner: type) -> inspect.Signature:
        # If a subclass has its own constructor, raise AttributeError: Python then uses the
        # signature of that constructor.
        if holder is not None or owner.__init__ is not self._constructor:  # type: ignore[misc]
            raise AttributeError("__signature__")
        signature = inspect.signature(self._constructor)
        _, *parameters = signature.parameters.values()  # without `self`
        return signature.replace(
            parameters=[
                parameter.replace(default=self._settings[parameter.name].default)
                if parameter.name in self._settings
                else parameter
                for parameter in parameters
            ]
        )


def _make_constructor(settings: Mapping[str, Setting[Any, Any]]) -> FunctionType:
    """Create a constructor with a parameter for each setting, from source code, as dataclasses do.

    Because the constructor has real parameters, tools see its signature, and Python itself raises
    the error for a parameter that is passed twice.
    """
    positional_names = [name for name, setting in settings.items() if not setting.kw_only]
    keyword_names = [name for name, setting in settings.items() if setting.kw_only]
    secret_names = [name for name, setting in settings.items() if setting.is_secret]

    def given_settings(values: dict[str, Any], unknown: Iterable[str]) -> dict[str, Any]:
        """Return the settings that were passed (with hidden secrets) and the unknown names."""
        values_by_name = {
            name: settings[name].hidden(value)
            for name, value in values.items()
            if value is not NOT_SET
        }
        # Keep only the names of unknown settings, because their values may be passwords.
        return values_by_name | dict.fromkeys(unknown)

    # The first statement wraps passwords in `Secret` objects. The second statement clears the
    # parameters that may contain passwords, because tracebacks of errors in `_configure` may show
    # local variables.
    source = (
        f"def __init__(self, {', '.join(f'{name}=NOT_SET' for name in positional_names)}, *, "
        f"{', '.join(f'{name}=NOT_SET' for name in keyword_names)}, **settings):\n"
        f"    given = given_settings({{{', '.join(f'{name!r}: {name}' for name in settings)}}}, "
        "settings)\n"
        f"    {' = '.join(secret_names)} = settings = None\n"
        "    self._configure(given)\n"
    )
    # `stack_level` skips the driver's modules by their name. With this `__name__`, warnings point
    # to the application's line, not to this source code.
    namespace: dict[str, Any] = {
        "__name__": __name__,
        "NOT_SET": NOT_SET,
        "given_settings": given_settings,
    }
    exec(source, namespace)
    constructor: FunctionType = namespace["__init__"]
    return constructor


def _settable_type(annotation: str) -> str:
    """Return the type that an application may set, from the annotation of a setting.

    For example: ``Setting[int | None, int]`` -> ``int | None``.
    """
    type_arguments = annotation.partition("[")[2].removesuffix("]")
    depth = 0
    for index, character in enumerate(type_arguments):
        # Ignore commas inside brackets.
        depth += (character == "[") - (character == "]")
        if character == "," and not depth:
            return type_arguments[:index]
    return type_arguments
