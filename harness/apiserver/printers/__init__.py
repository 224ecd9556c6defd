"""Table responses, as `kubectl get` prints them. After k8s.io/kubernetes/pkg/printers.

Columns of each kind and the text of their cells. Media types and list metadata belong in `endpoints`.
"""
