"""Where partitions are: tokens, the ring, replication, and the replicas that follow from them."""
