"""Server-side apply and `metadata.managedFields`: field sets, typed values, merging, conflicts.

After sigs.k8s.io/structured-merge-diff and k8s.io/apimachinery/pkg/util/managedfields. Other kinds
of patch belong in `patch`.

Contents: `server_side_apply` (requests and errors), `apply_merge` (the merge and its conflicts),
`field_managers` (entries of managed fields), `field_sets` (sets of field paths), `typed_values`
(fields and merges by type), `schema_check` (configurations against their types).
"""
