"""Lets scripts that are started by their path import `benchmarks._lib`.

Python puts a script's own folder first on ``sys.path``, where this file makes the folder itself the
package `benchmarks`. The clone stays off the path, so that the installed driver is measured, not
the source tree. ``python -m benchmarks.NAME`` finds the package without this file.
"""

from pathlib import Path

__path__ = [str(Path(__file__).resolve().parent)]
