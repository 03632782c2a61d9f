"""Errors with advice for calls that other mappers (such as Django's ORM) accept, but not this one.

Examples are a mapping in place of keyword arguments, and a method of instances that is called on
the class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any, NoReturn

from cassandra.aio.calls import mark_coroutine_function

__all__ = [
    "advise_on_fields",
    "advise_on_filters",
    "advise_on_saving",
    "advise_on_values",
    "require_instance",
]


def advise_on_values(cls: type, *names: str) -> None:
    """Make methods that take values by the names of columns raise TypeError for positional values.

    The methods themselves have no parameter for positional values. If they had one, type checkers
    would require it in each method with which an application overrides them.

    :param cls: the class of the methods.
    :param names: the methods, such as "create".
    """
    for name in names:
        method = vars(cls)[name]
        function = _with_names(getattr(method, "__func__", method))
        setattr(cls, name, function if function.__wrapped__ is method else classmethod(function))


def _with_names(function: Callable[..., Any]) -> Any:
    # `receiver` is positional-only, so that a column may be called `receiver`, too.
    @functools.wraps(function)
    def call(receiver: Any, /, *unnamed: object, **values: Any) -> Any:
        if unnamed:
            raise _unnamed_error(function.__name__, receiver, unnamed[0])
        return function(receiver, **values)

    return _marked(call, function)


def _unnamed_error(name: str, receiver: Any, value: object) -> TypeError:
    """Return the error for a value without the name of its column.

    :param name: the method.
    :param receiver: the model, instance or queryset.
    :param value: the value.
    """
    call = name
    if isinstance(receiver, type):
        model: Any = receiver
        call = f"{model.__name__}.{name}"
    else:
        # `receiver` is an instance, whose class has a mapping, or a queryset, which has a model.
        model = type(receiver) if hasattr(type(receiver), "__mapping__") else receiver.model
    if isinstance(value, model):
        advice = "this is an instance: write instance.save()"
    elif isinstance(value, Mapping):
        advice = f"write two asterisks before the mapping, {call}(**values)"
    elif isinstance(value, (list, tuple)):
        advice = f"for several rows, write {model.__name__}.objects.create_many(rows)"
    else:
        advice = f"write {call}({next(iter(model.__mapping__.names), 'column')}=...)"
    # Do not show the values, which may be secret.
    kind = type(value).__name__
    return TypeError(f"{call}() takes values by the names of columns, not a {kind}: {advice}")


def advise_on_fields(cls: type, *names: str) -> None:
    """Make methods that take one list of names raise TypeError for several names.

    :param cls: the class of the methods.
    :param names: the methods, such as "only".
    """
    for name in names:
        setattr(cls, name, _with_one_list(vars(cls)[name]))


# Stands for an argument that was not passed.
_MISSING = object()


def _with_one_list(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(queryset: object, /, fields: object = _MISSING, *more: object, **options: Any) -> Any:
        if more:
            name = function.__name__
            raise TypeError(f"{name}() takes one list of names: write {name}({[fields, *more]!r})")
        return function(queryset, *(() if fields is _MISSING else (fields,)), **options)

    return call


def advise_on_saving(cls: type, *names: str) -> None:
    """Make `save` and `asave` raise TypeError for options, such as `force_insert` in Django's ORM.

    :param cls: the class of the methods.
    :param names: the methods, such as "save".
    """
    for name in names:
        setattr(cls, name, _without_options(vars(cls)[name]))


def _without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(instance: object, /, *unnamed: object, **options: object) -> Any:
        if unnamed or options:
            name = function.__name__
            option = next(iter(options), "")
            advice = _SAVING.get(option, "the columns that have changed are written at once")
            what = f", such as {option!r}" if option else ""
            raise TypeError(f"{name}() takes no options{what}: {advice}")
        return function(instance)

    return _marked(call, function)


# What to write instead of arguments of `save` in other libraries, by the argument's name.
_SAVING = {
    "commit": "each write is applied at once; to apply several together, use a BatchQuery",
    "force_insert": "write instance.if_not_exists().save(), or Model.create(...)",
    "force_update": "write instance.if_exists().save()",
    "ttl": "write instance.ttl(seconds).save()",
    "timestamp": "write instance.timestamp(datetime).save()",
    "using": "write Model.objects.using(connection=...).create(...)",
    "batch": "write instance.batch(batch).save()",
    "timeout": "write instance.timeout(seconds).save()",
    "consistency": "write instance.consistency(ConsistencyLevel.QUORUM).save()",
}


def advise_on_filters(cls: type, *names: str) -> None:
    """Make methods that take no arguments raise TypeError with advice if filters are passed.

    :param cls: the class of the methods.
    :param names: the methods, such as "delete".
    """
    for name in names:
        method = vars(cls)[name]
        function: Any = _without_filters(getattr(method, "__func__", method))
        setattr(cls, name, function if function.__wrapped__ is method else classmethod(function))


def _without_filters(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(queryset: object, /, *unnamed: object, **filters: object) -> Any:
        if unnamed or filters:
            # Do not show the values, which may be secret.
            named = ", ".join(f"{name}=..." for name in filters) or "column=..."
            name = function.__name__
            raise TypeError(f"{name}() takes no filters: write objects({named}).{name}()")
        return function(queryset)

    return _marked(call, function)


def _marked(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, after marking it as a coroutine function if `function` is one."""
    if iscoroutinefunction(function):
        mark_coroutine_function(call)
    return call


class _CalledOnClass(TypeError, AttributeError):
    """The TypeError for a method of instances that is called on the class; see `_no_instance`.

    The class derives from AttributeError too, because debuggers call `isinstance` and `hasattr` for
    each object of the process. Both read attributes, and ignore only AttributeError.
    """


_CalledOnClass.__name__ = _CalledOnClass.__qualname__ = "TypeError"
_CalledOnClass.__module__ = "builtins"


class _NoInstanceType(type):
    """The metaclass of the class that `_no_instance` creates: reading an attribute raises
    TypeError.

    Blocking methods of models first read an attribute of ``self``, whereas coroutines first read an
    attribute of ``type(self)``. So both the object and its class must raise the error.
    """

    advice: str

    def __getattr__(cls, name: str) -> NoReturn:
        raise _CalledOnClass(cls.advice)


def _no_instance(advice: str) -> object:
    """Return an object that raises TypeError with `advice` if any attribute of it is read.

    `require_instance` makes this object the default of the parameter ``self``. Only a call on the
    class, such as ``Model.save()``, uses the default, so calls on instances are not slower.
    """

    def refuse(no_instance: object, name: str) -> NoReturn:
        raise _CalledOnClass(advice)

    return _NoInstanceType("NoInstance", (), {"advice": advice, "__getattribute__": refuse})()


def require_instance(cls: type, advice: dict[str, str]) -> None:
    """Make methods raise TypeError with advice if they are called on the class.

    :param cls: the class of the methods, which take no positional arguments.
    :param advice: what to write instead, by the method's name.
    """
    for name, text in advice.items():
        function: Any = vars(cls)[name]
        function.__defaults__ = (_no_instance(f"{name}() is a method of instances: {text}"),)
