"""Server-side apply and `metadata.managedFields`: field sets, typed values, merging, conflicts.

After sigs.k8s.io/structured-merge-diff and k8s.io/apimachinery/pkg/util/managedfields. Other kinds
of patch belong in `patch`.
"""
