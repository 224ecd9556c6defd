"""`Table` responses for `kubectl get`: the columns of each kind and the text of their cells.

After k8s.io/kubernetes/pkg/printers. Media types and list metadata belong in `endpoints`.

Contents: `printed_tables` (rows and column definitions), `columns` (the type of a column),
`columns_core`, `columns_workloads`, `columns_groups` (the columns of each kind), `cells`,
`pod_cells`, `durations`.
"""
