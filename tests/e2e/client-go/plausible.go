package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// plausible is how values are chosen that the API server may accept; what is not here is random.
func plausible() []any {
	return append(choices(), metas, texts, numbers, quantities, times, raw, conditions, requests, attributes, networks, capacities, devices, constraints, opaque)
}

func label(random randfill.Continue) string { return fmt.Sprintf("a%d", random.Intn(1000)) }

func metas(value *metav1.ObjectMeta, random randfill.Continue) {
	*value = metav1.ObjectMeta{Labels: map[string]string{label(random): label(random)}, Annotations: map[string]string{"example.com/a": label(random)}}
}

func texts(value *string, random randfill.Continue) { *value = label(random) }

func numbers(value *intstr.IntOrString, random randfill.Continue) {
	*value = intstr.FromInt(1 + random.Intn(1000))
}

func quantities(value *resource.Quantity, random randfill.Continue) {
	*value = resource.MustParse(fmt.Sprintf("%d%s", 1+random.Intn(9999), []string{"", "m", "Ki", "Mi", "k", "e3"}[random.Intn(6)]))
}

func times(value *metav1.Time, random randfill.Continue) {
	*value = metav1.Unix(random.Int63n(4_000_000_000), 0)
}

func raw(value *runtime.RawExtension, random randfill.Continue) {
	value.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","items":[1,2.5,null,true],"kind":"%s"}`, label(random))
}

func conditions(value *metav1.Condition, random randfill.Continue) {
	*value = metav1.Condition{Type: "T" + label(random), Status: metav1.ConditionTrue, Reason: "R", Message: label(random), ObservedGeneration: 1}
	times(&value.LastTransitionTime, random)
}

func requests(value *resourcev1.DeviceRequest, random randfill.Continue) {
	*value = resourcev1.DeviceRequest{Name: label(random)}
	if random.Intn(3) > 0 {
		value.Exactly = &resourcev1.ExactDeviceRequest{}
		random.Fill(value.Exactly)
		value.Exactly.AllocationMode = resourcev1.DeviceAllocationModeExactCount
		value.Exactly.Count = 1 + random.Int63n(9)
		return
	}
	value.FirstAvailable = make([]resourcev1.DeviceSubRequest, 1+random.Intn(2))
	for index := range value.FirstAvailable {
		random.Fill(&value.FirstAvailable[index])
		value.FirstAvailable[index].Name = fmt.Sprintf("%s-%d", label(random), index)
		value.FirstAvailable[index].AllocationMode, value.FirstAvailable[index].Count = resourcev1.DeviceAllocationModeAll, 0
	}
}

func attributes(value *resourcev1.DeviceAttribute, random randfill.Continue) {
	number, flag, text, version := random.Int63(), random.Intn(2) > 0, label(random), fmt.Sprintf("1.%d.3", random.Intn(99))
	*value = []resourcev1.DeviceAttribute{{IntValue: &number}, {BoolValue: &flag}, {StringValue: &text}, {VersionValue: &version}}[random.Intn(4)]
}

func capacities(value *resourcev1.DeviceCapacity, random randfill.Continue) {
	quantities(&value.Value, random)
}

func networks(value *resourcev1.NetworkDeviceData, random randfill.Continue) {
	*value = resourcev1.NetworkDeviceData{InterfaceName: label(random), IPs: []string{fmt.Sprintf("10.0.0.%d/24", random.Intn(255))}, HardwareAddress: "aa:bb:cc:dd:ee:ff"}
}

func devices(value *resourcev1.Device, random randfill.Continue) {
	*value = resourcev1.Device{Name: label(random)}
	random.Fill(&value.Attributes)
	random.Fill(&value.Capacity)
	random.Fill(&value.Taints)
	random.Fill(&value.BindsToNode)
}

func constraints(value *resourcev1.DeviceConstraint, random randfill.Continue) {
	attribute := resourcev1.FullyQualifiedName("gpu.example.com/" + label(random))
	*value = resourcev1.DeviceConstraint{MatchAttribute: &attribute}
}

func opaque(value *resourcev1.DeviceConfiguration, random randfill.Continue) {
	value.Opaque = &resourcev1.OpaqueDeviceConfiguration{Driver: driver}
	raw(&value.Opaque.Parameters, random)
}

// choices are the types with few values, and what has to have a form of its own.
func choices() []any {
	return []any{
		oneOf(corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		oneOf(corev1.DNSClusterFirst, corev1.DNSDefault),
		oneOf(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		oneOf(corev1.PreemptNever, corev1.PreemptLowerPriority),
		oneOf(corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded),
		oneOf(corev1.PodQOSBestEffort),
		oneOf(corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
		oneOf(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		oneOf(corev1.TolerationOpExists),
		oneOf(corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist),
		oneOf(corev1.ProtocolTCP, corev1.ProtocolUDP),
		oneOf(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		oneOf(corev1.NodeHostName, corev1.NodeInternalIP),
		oneOf(resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute),
		oneOf(resourcev1.DeviceTolerationOpExists),
		oneOf(resourcev1.QualifiedName("gpu.example.com/a"), resourcev1.QualifiedName("b")),
		oneOf(resourcev1.FullyQualifiedName("gpu.example.com/a")),
		oneOf(types.UID("9a0c9b66-3d7b-4a3c-9a06-5a5f0f6e7a01")),
		oneOf(resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}),
		oneOf(corev1.NodeSelectorRequirement{Key: "example.com/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}}),
		oneOf(corev1.Toleration{Key: "example.com/t", Operator: corev1.TolerationOpEqual, Value: "v", Effect: corev1.TaintEffectNoSchedule}),
		oneOf(corev1.PodIP{IP: "10.1.2.3"}), oneOf(corev1.HostIP{IP: "10.1.2.4"}),
		oneOf(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.1.2.5"}),
		oneOf(metav1.NewMicroTime(time.Unix(1_700_000_000, 5000))),
	}
}

func oneOf[T any](values ...T) func(*T, randfill.Continue) {
	return func(value *T, random randfill.Continue) { *value = values[random.Intn(len(values))] }
}
