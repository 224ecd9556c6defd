"""Defects that were reported of Kubernetes, or of schedulers that reuse its DRA plugin.

Contents: `allocator_defects`, `allocator_search`, `binding_defects`, `controller_defects`,
`mutation_cache`, `queueing_defects`, `registered`.
"""
