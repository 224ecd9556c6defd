"""Commands that each run one part of a cluster or of the harness alone, against any kubeconfig."""
