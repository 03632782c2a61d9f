"""The driver's version, in its own file so that the build can read it without importing the
package.
"""

# The version of the distribution. It also shows whether this version is released.
DISTRIBUTION_VERSION = "4.0.0.dev0"

# This has three integers even before a release, because applications parse it as they parse the
# version of cassandra-driver.
__version__ = "4.0.0"
__version_info__ = (4, 0, 0)

DRIVER_NAME = "turbocql Python driver"
