"""A replay spread over several processes, of this machine or of a Ray cluster.

`partition` cuts, `shares` say what each worker is told, `spreading` has it done by `workers` (which follows
them, starts dead ones again and prints in program order) in a place (`places`, named by `where`): `local`, or
`on_ray` with `ray_node` on the cluster's machines. `merging` makes one summary of theirs.
"""
