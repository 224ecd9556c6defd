package main

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const driver = "gpu.example.com"

func namespaced(prefix string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
}

func objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"made-by": "client-go"}}
}

// pod uses a claim when one is named.
func pod(name, claimName string) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: objectMeta(name),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if claimName != "" {
		made.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claimName}}
		made.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	}
	return made
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: objectMeta(name)}
}

func claimSpec() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver}},
	}}}
}

func claim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: objectMeta(name), Spec: claimSpec()}
}

func template(name string) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: objectMeta(name),
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: claimSpec()},
	}
}

func class(name string) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: objectMeta(name)}
}

func slice(name string) *resourcev1.ResourceSlice {
	nodeName := "worker-1"
	return &resourcev1.ResourceSlice{ObjectMeta: objectMeta(name), Spec: resourcev1.ResourceSliceSpec{
		Driver:   driver,
		NodeName: &nodeName,
		Pool:     resourcev1.ResourcePool{Name: "pool", Generation: 1, ResourceSliceCount: 1},
		Devices:  []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
	}}
}

func allocation() *resourcev1.AllocationResult {
	return &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: driver, Pool: "pool", Device: "gpu-0"}},
	}}
}
