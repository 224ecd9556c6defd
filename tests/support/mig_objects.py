"""A node with one GPU, whose partitions are unequal, and network cards for all nodes."""

import pathlib

NODE = "ip-10-0-0-7.example"
TEXT = pathlib.Path(__file__).with_suffix(".yaml").read_text()
"""The answer of `kubectl get resourceslices,deviceclasses -o yaml`."""
POOLS = 'from = ["slices.yaml"]\ncopies = 3\n'
CLAIMS = pathlib.Path(__file__).with_name("mig_claims.toml").read_text()
"""Claims of a scenario for these devices."""
