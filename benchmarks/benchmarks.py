"""Makes `benchmarks._lib` importable for scripts that are started by their path.

For ``python benchmarks/NAME.py``, Python puts only the folder benchmarks/ on ``sys.path``. The
import of `benchmarks` then finds this module, and its ``__path__`` makes it a package that contains
the folder's modules. The root of the checkout is not on the path, so the installed driver is
measured, and not the source tree. For ``python -m benchmarks.NAME``, this file is not needed.
"""

from pathlib import Path

__path__ = [str(Path(__file__).resolve().parent)]
