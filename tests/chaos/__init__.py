"""A campaign of faults on real nodes, and a record of all acknowledged writes."""
