"""The placement of partitions: tokens, the ring, replication, and the resulting replicas."""
