"""The placement of partitions: tokens, the ring, replication, and the replicas that follow."""
