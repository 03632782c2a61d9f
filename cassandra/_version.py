"""The version, alone in its file so that the build reads it without importing the package."""

# The version of the distribution, which says that it is not released yet.
DISTRIBUTION_VERSION = "4.0.0.dev0"

# Three integers, also before a release: programs of today's drivers parse it so.
__version__ = "4.0.0"
__version_info__ = (4, 0, 0)

DRIVER_NAME = "turbocql Python driver"
