"""Campaigns over machines: one plan, its shards on any number of machines, and their merge.

A shard is the part of a plan that one machine makes, with all attempts of its runs. Machines are
started by engines that exist: a Kubernetes Job, a matrix of workflows, sbatch.
"""
