"""A Ray cluster of two nodes on this machine, while standard input is open; `kill` ends the second."""

import sys
from typing import Any

from ray.cluster_utils import Cluster

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000}

cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
second = cluster.add_node(**NODE)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "kill\n":
        cluster.remove_node(second, allow_graceful=False)
cluster.shutdown()
