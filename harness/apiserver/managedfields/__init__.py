"""Server-side apply and `metadata.managedFields`. After sigs.k8s.io/structured-merge-diff and k8s.io/apimachinery/pkg/util/managedfields.

Field sets, typed comparison and merging, ownership conflicts. Other kinds of patch belong in `patch`.
"""
