package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	resourcev1apply "k8s.io/client-go/applyconfigurations/resource/v1"
	resourcev1beta2apply "k8s.io/client-go/applyconfigurations/resource/v1beta2"
)

const claimController, finalizer = "ResourceClaimController", resourcev1.Finalizer

// scheduling writes what the claim controller and kube-scheduler write from a pod with a claim template to its end.
func scheduling(c *cluster) {
	must(c.ResourceV1().ResourceClaimTemplates(c.namespace).Create(c.ctx, template("one-gpu"), create))
	waiting := pod("waiting", "")
	templateName := "one-gpu"
	waiting.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &templateName}}
	waiting = must(c.CoreV1().Pods(c.namespace).Create(c.ctx, waiting, create))
	made := c.generateClaim(waiting)
	waiting = c.nominate(waiting)
	made = c.allocate(made, waiting)
	c.bind(waiting)
	c.extendedResources()
	c.deallocate(made, waiting)
}

// generateClaim is the claim controller's part; it names the claim in the pod's status by server-side apply.
func (c *cluster) generateClaim(owner *corev1.Pod) *resourcev1.ResourceClaim {
	yes := true
	made := &resourcev1.ResourceClaim{Spec: claimSpec(), ObjectMeta: metav1.ObjectMeta{
		GenerateName: owner.Name + "-gpu-",
		Annotations:  map[string]string{"resource.kubernetes.io/pod-claim-name": "gpu"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: &yes, BlockOwnerDeletion: &yes},
		},
	}}
	made = must(c.ResourceV1().ResourceClaims(c.namespace).Create(c.ctx, made, create))
	status := corev1apply.PodStatus().WithResourceClaimStatuses(
		corev1apply.PodResourceClaimStatus().WithName("gpu").WithResourceClaimName(made.Name))
	applied := corev1apply.Pod(owner.Name, owner.Namespace).WithStatus(status)
	options := metav1.ApplyOptions{FieldManager: claimController, Force: true}
	found := must(c.CoreV1().Pods(c.namespace).ApplyStatus(c.ctx, applied, options))
	expect(*found.Status.ResourceClaimStatuses[0].ResourceClaimName == made.Name, "the statuses are %+v", found.Status.ResourceClaimStatuses)
	again := must(c.CoreV1().Pods(c.namespace).ApplyStatus(c.ctx, applied, options))
	expect(again.ResourceVersion == found.ResourceVersion, "applying the same again is a write")
	extracted := must(corev1apply.ExtractPodStatus(found, claimController))
	expect(len(extracted.Status.ResourceClaimStatuses) == 1, "the controller owns %+v", extracted.Status)
	done("a claim made from a template, named in the pod's status")
	return made
}

// patchPodStatus is how kube-scheduler writes into a pod's status: what has changed, as a strategic merge patch.
func (c *cluster) patchPodStatus(before *corev1.Pod, change func(*corev1.PodStatus)) *corev1.Pod {
	after := before.Status.DeepCopy()
	change(after)
	old := must(json.Marshal(corev1.Pod{Status: before.Status}))
	new := must(json.Marshal(corev1.Pod{Status: *after}))
	data := must(strategicpatch.CreateTwoWayMergePatch(old, new, &corev1.Pod{}))
	return must(c.CoreV1().Pods(before.Namespace).Patch(c.ctx, before.Name, types.StrategicMergePatchType, data, patch, "status"))
}

func (c *cluster) nominate(waiting *corev1.Pod) *corev1.Pod {
	found := must(c.CoreV1().Pods(c.namespace).Get(c.ctx, waiting.Name, get))
	found = c.patchPodStatus(found, func(status *corev1.PodStatus) {
		status.NominatedNodeName = "worker-1"
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available",
			LastTransitionTime: metav1.Now(), ObservedGeneration: found.Generation,
		})
	})
	expect(found.Status.NominatedNodeName == "worker-1" && len(found.Status.Conditions) == 1, "the status is %+v", found.Status)
	expect(len(found.Status.ResourceClaimStatuses) == 1, "the patch took %+v", found.Status.ResourceClaimStatuses)
	found = c.patchPodStatus(found, func(status *corev1.PodStatus) { status.NominatedNodeName = "" })
	expect(found.Status.NominatedNodeName == "", "the nomination is still %q", found.Status.NominatedNodeName)
	done("conditions and nominated nodes by strategic merge patches of the status")
	return found
}

// allocate is what PreBind does: a finalizer first, then allocation and reservation together.
func (c *cluster) allocate(made *resourcev1.ResourceClaim, consumer *corev1.Pod) *resourcev1.ResourceClaim {
	claims := c.ResourceV1().ResourceClaims(c.namespace)
	stale := made.DeepCopy()
	made = made.DeepCopy()
	made.Finalizers = append(made.Finalizers, finalizer)
	made = must(claims.Update(c.ctx, made, update))
	stale.Status.Allocation = allocation()
	_, err := claims.UpdateStatus(c.ctx, stale, update)
	expect(apierrors.IsConflict(err), "allocating an old version is %v", err)
	made.Status.Allocation = allocation()
	now := metav1.Now().Rfc3339Copy()
	made.Status.Allocation.AllocationTimestamp = &now
	made.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: consumer.Name, UID: consumer.UID}}
	found := must(claims.UpdateStatus(c.ctx, made, update))
	expect(found.Status.Allocation.AllocationTimestamp != nil, "the time of the allocation is gone")
	changed := found.DeepCopy()
	changed.Status.Allocation.Devices.Results[0].Device = "gpu-1"
	_, err = claims.UpdateStatus(c.ctx, changed, update)
	expect(apierrors.IsInvalid(err), "changing an allocation is %v", err)
	done("finalizer, allocation and reservation; stale and changed ones are refused")
	return found
}

func (c *cluster) bind(waiting *corev1.Pod) {
	target := corev1.ObjectReference{Kind: "Node", Name: "worker-1"}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: waiting.Name, UID: waiting.UID}, Target: target}
	try(c.CoreV1().Pods(c.namespace).Bind(c.ctx, binding, create))
	found := must(c.CoreV1().Pods(c.namespace).Get(c.ctx, waiting.Name, get))
	scheduled := found.Status.Conditions[0]
	expect(scheduled.Type == corev1.PodScheduled && scheduled.Status == corev1.ConditionTrue && scheduled.Message == "", "the condition is %+v", scheduled)
	done("a binding, which tells the condition")
}

// extendedResources names a claim that the scheduler made for requests like example.com/gpu: 1.
func (c *cluster) extendedResources() {
	wanted := pod("asking", "")
	one := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	wanted.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
	asking := must(c.CoreV1().Pods(c.namespace).Create(c.ctx, wanted, create))
	special := claim("special")
	special.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	must(c.ResourceV1().ResourceClaims(c.namespace).Create(c.ctx, special, create))
	found := c.patchPodStatus(asking, func(status *corev1.PodStatus) {
		status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
			ResourceClaimName: "special",
			RequestMappings:   []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu", RequestName: "container-0-request-0"}},
		}
	})
	status := found.Status.ExtendedResourceClaimStatus
	expect(status != nil && status.ResourceClaimName == "special" && len(status.RequestMappings) == 1, "the status is %+v", status)
	done("the claim for extended resources in a pod's status")
}

// deallocate ends the pod: the reservation goes, the allocation and its finalizer, and with the pod its claim.
func (c *cluster) deallocate(made *resourcev1.ResourceClaim, consumer *corev1.Pod) {
	claims, pods, now := c.ResourceV1().ResourceClaims(c.namespace), c.CoreV1().Pods(c.namespace), int64(0)
	try(claims.Delete(c.ctx, made.Name, metav1.DeleteOptions{}))
	found := must(claims.Get(c.ctx, made.Name, get))
	expect(found.DeletionTimestamp != nil, "the finalizer does not hold the claim")
	try(pods.Delete(c.ctx, consumer.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	found.Status.ReservedFor, found.Status.Allocation = nil, nil
	found = must(claims.UpdateStatus(c.ctx, found, update))
	found.Finalizers = nil
	must(claims.Update(c.ctx, found, update))
	_, err := claims.Get(c.ctx, made.Name, get)
	expect(apierrors.IsNotFound(err), "the claim is still there: %v", err)
	done("deallocation, and the claim's end")
}

// claims has two drivers report their devices of one claim by server-side apply, as the kubelet plugins of DRA drivers do,
// and a controller taint devices.
func claims(c *cluster) {
	c.reports()
	if _, err := c.Discovery().ServerResourcesForGroupVersion(resourcev1beta2.SchemeGroupVersion.String()); err == nil {
		c.taints()
	}
}

func (c *cluster) reports() {
	objects := c.ResourceV1().ResourceClaims(c.namespace)
	made := claim("shared")
	made.Spec.Devices.Requests = append(made.Spec.Devices.Requests, *made.Spec.Devices.Requests[0].DeepCopy())
	made.Spec.Devices.Requests[1].Name = "other"
	made = must(objects.Create(c.ctx, made, create))
	made.Status.Allocation = allocation()
	second := made.Status.Allocation.Devices.Results[0]
	second.Request, second.Driver = "other", "nic.example.com"
	made.Status.Allocation.Devices.Results = append(made.Status.Allocation.Devices.Results, second)
	must(objects.UpdateStatus(c.ctx, made, update))
	for _, result := range made.Status.Allocation.Devices.Results {
		c.report(result, metav1.ConditionTrue)
		c.report(result, metav1.ConditionFalse)
	}
	found := must(objects.Get(c.ctx, "shared", get))
	expect(len(found.Status.Devices) == 2 && found.Status.Allocation != nil, "the status is %+v", found.Status)
	expect(found.Status.Devices[1].Conditions[0].Status == metav1.ConditionFalse, "the conditions are %+v", found.Status.Devices[1].Conditions)
	expect(string(found.Status.Devices[0].Data.Raw) == `{"driver":"`+driver+`"}`, "the data are %s", found.Status.Devices[0].Data.Raw)
	empty := resourcev1apply.ResourceClaim("shared", c.namespace).WithStatus(resourcev1apply.ResourceClaimStatus())
	found = must(objects.ApplyStatus(c.ctx, empty, metav1.ApplyOptions{FieldManager: driver, Force: true}))
	expect(len(found.Status.Devices) == 1 && found.Status.Devices[0].Driver == second.Driver, "the devices are %+v", found.Status.Devices)
	absent := resourcev1apply.AllocatedDeviceStatus().WithDriver(driver).WithPool("pool").WithDevice("gpu-9")
	wrong := resourcev1apply.ResourceClaim("shared", c.namespace).WithStatus(resourcev1apply.ResourceClaimStatus().WithDevices(absent))
	_, err := objects.ApplyStatus(c.ctx, wrong, metav1.ApplyOptions{FieldManager: driver, Force: true})
	expect(apierrors.IsInvalid(err), "the status of a device that is not allocated is %v", err)
	done("two drivers own the statuses of their devices")
}

func (c *cluster) report(result resourcev1.DeviceRequestAllocationResult, ready metav1.ConditionStatus) {
	device := resourcev1apply.AllocatedDeviceStatus().WithDriver(result.Driver).WithPool(result.Pool).WithDevice(result.Device).
		WithConditions(metav1apply.Condition().WithType("Ready").WithStatus(ready).WithReason("Told").WithMessage("").WithLastTransitionTime(metav1.Now())).
		WithData(runtime.RawExtension{Raw: []byte(`{"driver":"` + result.Driver + `"}`)}).
		WithNetworkData(resourcev1apply.NetworkDeviceData().WithInterfaceName("eth1").WithIPs("10.9.8.7/24").WithHardwareAddress("aa:bb:cc:dd:ee:ff"))
	applied := resourcev1apply.ResourceClaim("shared", c.namespace).WithStatus(resourcev1apply.ResourceClaimStatus().WithDevices(device))
	must(c.ResourceV1().ResourceClaims(c.namespace).ApplyStatus(c.ctx, applied, metav1.ApplyOptions{FieldManager: result.Driver, Force: true}))
}

func (c *cluster) taints() {
	rules, name := c.ResourceV1beta2().DeviceTaintRules(), c.namespace+"-rule"
	taint := resourcev1beta2apply.DeviceTaint().WithKey("example.com/broken").WithEffect(resourcev1beta2.DeviceTaintEffectNoExecute)
	spec := resourcev1beta2apply.DeviceTaintRuleSpec().WithTaint(taint).
		WithDeviceSelector(resourcev1beta2apply.DeviceTaintSelector().WithDriver(driver).WithPool("pool"))
	options := metav1.ApplyOptions{FieldManager: driver, Force: true}
	found := must(rules.Apply(c.ctx, resourcev1beta2apply.DeviceTaintRule(name).WithSpec(spec), options))
	expect(found.Spec.Taint.TimeAdded != nil && found.Generation == 1, "the rule is %+v", found)
	evicted := metav1apply.Condition().WithType("EvictionInProgress").WithStatus(metav1.ConditionTrue).WithReason("PodsPending").
		WithMessage("1 pod").WithLastTransitionTime(metav1.Now()).WithObservedGeneration(found.Generation)
	status := resourcev1beta2apply.DeviceTaintRuleStatus().WithConditions(evicted)
	found = must(rules.ApplyStatus(c.ctx, resourcev1beta2apply.DeviceTaintRule(name).WithStatus(status), options))
	expect(len(found.Status.Conditions) == 1 && found.Spec.Taint.Key == "example.com/broken", "the rule is %+v", found)
	try(rules.Delete(c.ctx, name, metav1.DeleteOptions{}))
	done("a taint rule and its conditions")
}
