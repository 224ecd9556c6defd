"""Campaigns over machines: one plan, its shards on any number of machines, and their merge.

A shard is the part of a plan that one machine makes, with all attempts of its runs. Machines are
started by engines that exist: a Kubernetes Job, a matrix of workflows, sbatch.

Contents: `balancing`, `chosen_shards`, `junit_files`, `local_subjects`, `locations`,
`merge_documents`, `merged_campaigns`, `merging`, `planned_plugins`, `run_evidence`,
`shard_folders`, `shard_reading`, `sharded_plans`.
"""
