"""`Table` responses for `kubectl get`: the columns of each kind and the text of their cells.

After k8s.io/kubernetes/pkg/printers. Media types and list metadata belong in `endpoints`.
"""
