"""The settings of a cluster: one table, from which everything else about them comes."""
