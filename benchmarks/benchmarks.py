"""Makes `benchmarks._lib` importable for scripts that are started by their path.

For ``python benchmarks/NAME.py``, Python puts only the folder benchmarks/ on ``sys.path``. The name
`benchmarks` then means this module, and its ``__path__`` makes it a package of the same folder. The
root of the checkout is not on the path, so that the installed driver is measured and not the source
tree. ``python -m benchmarks.NAME`` finds the package without this file.
"""

from pathlib import Path

__path__ = [str(Path(__file__).resolve().parent)]
