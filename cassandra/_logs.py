"""The loggers of the driver, whose calls raise no exceptions.

A handler of the `logging` package reports its own exceptions. But a filter, a record factory and a
handler that an application has written may raise them. The driver logs in the middle of its work,
for example when it has lost a host and is about to connect to it again. An exception must not
interrupt that.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from typing import TYPE_CHECKING, Any

from cassandra._signals import is_from_signal_handler


class Log:
    """Calls a logger, and prints exceptions that its filters and handlers raise.

    They are printed to `sys.stderr`, unless `logging.raiseExceptions` is False, as handlers of the
    `logging` package do. All other attributes are those of the logger, also if they are set.

    :param name: the name of the logger.
    """

    logger: logging.Logger

    def __init__(self, name: str) -> None:
        vars(self)["logger"] = logging.getLogger(name)

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            return getattr(self.logger, name)

        def __setattr__(self, name: str, value: Any) -> None:
            # Tests of programs replace methods of this class by mocks.
            if hasattr(Log, name):
                vars(self)[name] = value
            else:
                setattr(self.logger, name, value)

        def __delattr__(self, name: str) -> None:
            if name in vars(self):
                del vars(self)[name]
            else:
                delattr(self.logger, name)

    def __reduce__(self) -> Any:
        return Log, (self.logger.name,)

    def isEnabledFor(self, level: int) -> bool:
        return self.logger.isEnabledFor(level)

    def debug(self, message: str, *arguments: Any, **options: Any) -> None:
        self._log(logging.DEBUG, message, arguments, options)

    def info(self, message: str, *arguments: Any, **options: Any) -> None:
        self._log(logging.INFO, message, arguments, options)

    def warning(self, message: str, *arguments: Any, **options: Any) -> None:
        self._log(logging.WARNING, message, arguments, options)

    def error(self, message: str, *arguments: Any, **options: Any) -> None:
        self._log(logging.ERROR, message, arguments, options)

    def exception(self, message: str, *arguments: Any, **options: Any) -> None:
        self._log(logging.ERROR, message, arguments, {"exc_info": True, **options})

    def log(self, level: int, message: str, *arguments: Any, **options: Any) -> None:
        self._log(level, message, arguments, options)

    def _log(
        self, level: int, message: str, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        """Log a message as if the caller of the caller had called the logger."""
        if not self.logger.isEnabledFor(level):
            return
        options["stacklevel"] = options.get("stacklevel", 1) + 2
        try:
            self.logger.log(level, message, *arguments, **options)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            # The program may have no standard error, or may have closed it.
            with contextlib.suppress(Exception):
                if logging.raiseExceptions and sys.stderr is not None:
                    print("--- Logging error ---", file=sys.stderr)
                    traceback.print_exception(error, file=sys.stderr)
