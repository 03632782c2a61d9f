"""The driver's version. The build reads this file without importing the package."""

# The version of the distribution. The suffix ".dev0" shows that this version is not released.
DISTRIBUTION_VERSION = "4.0.0.dev0"

# The version of the driver has three integers even before a release, because applications parse it
# like the version of cassandra-driver.
__version__ = "4.0.0"
__version_info__ = (4, 0, 0)

DRIVER_NAME = "turbocql Python driver"  # what the driver tells servers in STARTUP
