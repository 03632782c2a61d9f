"""The version, alone in its file so that the build reads it without importing the package."""

__version__ = "4.0.0.dev0"
__version_info__ = (4, 0, 0)

DRIVER_NAME = "turbocql Python driver"
