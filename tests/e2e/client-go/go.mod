module flake-hunt/tests/e2e/client-go

go 1.26.0

require (
	k8s.io/api v0.36.4
	k8s.io/apiextensions-apiserver v0.36.4
	k8s.io/apimachinery v0.36.4
	k8s.io/client-go v0.36.4
	k8s.io/klog/v2 v2.140.0
	sigs.k8s.io/randfill v1.0.0
)
