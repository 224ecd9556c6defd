"""Worlds about the whole life of a pod: with claim controller, kubelets, or a node's DRA manager.

Contents: `controlled_world`, `forced_deletions`, `freed_claims`, `generated_claims`,
`kept_files`, `lost_answers`, `lost_claims`, `node_preparations`, `overtaken_events`,
`reserved_claims`, `template_users`.
"""
