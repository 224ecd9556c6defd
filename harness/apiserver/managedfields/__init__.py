"""Server-side apply and `metadata.managedFields`: field sets, typed values, merging, conflicts.

After sigs.k8s.io/structured-merge-diff and k8s.io/apimachinery/pkg/util/managedfields. Other kinds
of patch belong in `patch`.

Contents: `apply_merge`, `field_managers`, `field_sets`, `schema_check`, `server_side_apply`,
`typed_values`.
"""
