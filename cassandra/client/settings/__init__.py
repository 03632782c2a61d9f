"""The settings of a cluster. One table describes them, and everything else is derived from it."""
