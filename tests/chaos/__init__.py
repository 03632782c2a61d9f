"""A campaign that causes faults on real nodes, and checks all acknowledged writes at the end."""
