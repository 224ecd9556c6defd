"""`/metrics`: what the server counts of its requests, and the text with kube-apiserver's names."""
