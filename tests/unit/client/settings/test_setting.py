"""`Setting`: a class gets its constructor, attributes and their checks from a table of settings."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cassandra.client.settings import checks
from cassandra.client.settings.setting import ConstructorOnly, Plain, Setting, settings_table
from cassandra.query.settings import NOT_SET


@settings_table
class Table:
    """A table with a setting of each sort.

    `port` has a check, `window` is live, `names` has a function that follows changes, and
    `password` is secret. `first` exists only in the constructor, and `colour` is keyword-only.
    """

    port: Setting[int | str | None, int] = Setting(
        default=9042, check=checks.tcp_port, none_is_default=True
    )
    window: Plain[float | None] = Setting(default=2, check=checks.seconds, is_live=True)
    names: Plain[dict[str, int] | None] = Setting(default=None, then="_follow_names")
    password: Plain[Any] = Setting(default=None, is_secret=True)
    first: ConstructorOnly[int, int] = ConstructorOnly(default=None)
    colour: Plain[str | None] = Setting(default="red", kw_only=True)


class Holder(Table):
    """A class whose constructor and attributes come from `Table`."""

    def _configure(self, arguments: dict[str, Any]) -> None:
        """Store the settings like a cluster does.

        The generated constructor calls this with the arguments that were passed.
        """
        self.arguments = arguments
        self._live: dict[str, Any] = {}
        self.changed_names: list[Any] = []
        for name, setting in Table._table.items():  # type: ignore[attr-defined]
            if not isinstance(setting, ConstructorOnly):
                if name in arguments:
                    setattr(self, name, arguments[name])
                else:
                    setting.take_default(self)

    def _follow_names(self) -> None:
        """Record the new names, or refuse them; called after each change of `names`."""
        if self.names == {"no": 0}:
            raise ValueError("these names are refused")
        self.changed_names.append(self.names)


def setting(name: str) -> Any:
    """Return the `Setting` object itself, because the class attribute would return the default."""
    return Table._table[name]  # type: ignore[attr-defined]


def test_the_constructor_has_a_parameter_for_each_setting() -> None:
    """The signature of a class with settings shows each setting with its default and its type."""
    parameters = inspect.signature(Holder).parameters
    assert list(parameters) == [
        "port",
        "window",
        "names",
        "password",
        "first",
        "colour",
        "settings",
    ]
    assert [parameter.default for parameter in parameters.values()][:2] == [9042, 2]
    assert parameters["colour"].default == "red"
    # The signature shows the defaults, but the constructor must know which arguments were passed.
    real_parameters = inspect.signature(Holder.__init__).parameters.values()
    assert {parameter.default for parameter in real_parameters} == {
        NOT_SET,
        inspect.Parameter.empty,
    }
    assert parameters["colour"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["port"].annotation == "int | str | None"
    assert parameters["names"].annotation == "dict[str, int] | None"
    with pytest.raises(TypeError, match="multiple values for argument 'port'"):
        Holder(1, port=2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="positional argument"):
        Holder(1, 2, None, None, 5, "blue")  # type: ignore[call-arg]


def test_only_given_arguments_are_passed_on() -> None:
    assert Holder().arguments == {}
    assert Holder("9043", colour=None).arguments == {"port": "9043", "colour": None}
    # The class handles unknown settings itself. It gets only their names, because the values may be
    # secrets.
    assert Holder(pass_word="secret").arguments == {"pass_word": None}  # type: ignore[call-arg]


def test_values_are_checked_and_stored() -> None:
    """A setting has a default, and converts and checks new values.

    After `del`, it has its default again.
    """
    holder = Holder()
    assert holder.port == 9042
    assert holder.window == 2
    assert holder.colour == "red"
    assert Holder.port == 9042
    holder.port = "9043"
    assert holder.port == 9043
    with pytest.raises(ValueError, match="port must be a number from 1 to 65535, but is 0"):
        holder.port = 0
    assert holder.port == 9043
    del holder.port
    assert holder.port == 9042


def test_live_settings_are_also_stored_for_the_engine() -> None:
    """Live settings are also stored in `_live`, from which the engine reads them.

    The engine reads them whenever it needs them, so that changes have an effect.
    """
    holder = Holder()
    assert holder._live == {"window": 2}
    holder.window = 3
    assert holder._live == {"window": 3}
    del holder.window
    assert holder._live == {"window": 2}
    holder.port = 1
    assert "port" not in holder._live
    assert [setting(name).may_change for name in ("port", "window", "names")] == [False, True, True]


def test_a_change_calls_the_then_function() -> None:
    """After each change of a setting, its function `then` is called. Here, it records the names."""
    holder = Holder(names={"a": 1})
    holder.names = None
    assert holder.changed_names == [{"a": 1}, None]


@pytest.mark.parametrize("names_before", [None, {"a": 1}])
def test_a_value_that_the_then_function_refuses_is_not_stored(
    names_before: dict[str, int] | None,
) -> None:
    """If the function `then` raises an error, the setting keeps its previous value.

    If the setting was never set, it stays unset and has its default.
    """
    holder = Holder()
    if names_before is not None:
        holder.names = names_before
    attributes = dict(vars(holder))
    with pytest.raises(ValueError, match="refused"):
        holder.names = {"no": 0}
    assert holder.names == names_before
    assert vars(holder) == attributes


def test_a_deletion_calls_the_then_function() -> None:
    holder = Holder(names={"a": 1})
    del holder.names
    assert holder.changed_names == [{"a": 1}, None]


def test_a_secret_setting_is_not_shown() -> None:
    """A secret value is in no `repr` of the object, and in no frame of an error's traceback."""
    holder = Holder(password={"key": "hush"})
    assert holder.password == {"key": "hush"}
    assert "hush" not in repr(vars(holder))
    assert setting("password").secret_of(holder).reveal() == {"key": "hush"}
    assert setting("password").secret_of(Holder()).reveal() is None
    with pytest.raises(ValueError, match="port") as caught:
        Holder(port=0, password=["hidden"])
    # Leave out the first frame: it is this test, which has the secret itself.
    for frame in caught.traceback[1:]:
        assert "hidden" not in repr(frame.frame.f_locals)


def test_a_subclass_may_have_its_own_default() -> None:
    """A subclass may set the default of a setting as a class attribute, which is checked."""

    class Mine(Holder):
        port = 9999
        window = 1

    mine = Mine()
    assert (mine.port, mine.window) == (9999, 1)
    assert mine._live == {"window": 1}
    assert Mine(port=5).port == 5

    class Wrong(Holder):
        port = 0

    with pytest.raises(ValueError, match="but is 0"):
        Wrong()


def test_an_attribute_of_the_class_may_be_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a class attribute is patched, its value is the default of the setting.

    After the patch is undone, the setting has its own default again.
    """
    existing = Holder()
    monkeypatch.setattr(Holder, "port", 9999)
    # The patched default also applies to existing objects, but not to settings that were passed.
    assert existing.port == 9999
    assert Holder().port == 9999
    assert Holder(port=7).port == 7
    monkeypatch.undo()
    assert (existing.port, Holder().port) == (9042, 9042)


def test_a_setting_for_the_constructor_only() -> None:
    """A `ConstructorOnly` setting is an argument of the constructor.

    It cannot be read or set later.
    """
    assert Holder(first=5).arguments == {"first": 5}
    with pytest.raises(AttributeError, match="'first': it is for the constructor"):
        Holder().first  # noqa: B018
    with pytest.raises(AttributeError, match="'first': it is for the constructor"):
        Holder().first = 5
