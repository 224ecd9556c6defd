package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
)

var (
	get    = metav1.GetOptions{}
	create = metav1.CreateOptions{}
	update = metav1.UpdateOptions{}
	patch  = metav1.PatchOptions{}
)

// patches writes objects in every way that typed clients have.
func patches(c *cluster) {
	c.patchKinds()
	c.applied()
	c.conflicts()
	c.refusals()
	c.podSubresources()
	c.evictions()
	c.deletions()
}

func (c *cluster) patchKinds() {
	pods := c.CoreV1().Pods(c.namespace)
	must(pods.Create(c.ctx, pod("patched", ""), create))
	for _, one := range []struct {
		kind types.PatchType
		data string
	}{
		{types.JSONPatchType, `[{"op": "test", "path": "/metadata/labels/made-by", "value": "client-go"}, {"op": "add", "path": "/metadata/labels/json", "value": "1"}]`},
		{types.MergePatchType, `{"metadata": {"labels": {"merge": "1"}}}`},
		{types.StrategicMergePatchType, `{"metadata": {"labels": {"strategic": "1"}}, "spec": {"tolerations": [{"key": "new", "operator": "Exists"}]}}`},
	} {
		must(pods.Patch(c.ctx, "patched", one.kind, []byte(one.data), patch))
	}
	status := `{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`
	must(pods.Patch(c.ctx, "patched", types.StrategicMergePatchType, []byte(status), patch, "status"))
	found := must(pods.Get(c.ctx, "patched", get))
	expect(len(found.Labels) == 4, "labels are %v", found.Labels)
	expect(found.Status.Phase == corev1.PodRunning && len(found.Status.Conditions) == 1, "the status is %+v", found.Status)
	found.Status.Message, found.Spec.Containers[0].Image = "seen", "ignored"
	found = must(pods.UpdateStatus(c.ctx, found, update))
	expect(found.Status.Message == "seen" && found.Spec.Containers[0].Image == "none", "UpdateStatus wrote %+v", found)
	_, err := pods.Patch(c.ctx, "patched", types.JSONPatchType, []byte(`[{"op": "test", "path": "/metadata/name", "value": "other"}]`), patch)
	expect(apierrors.IsInvalid(err), "a failed test of a JSON patch is %v", err)
	done("JSON, merge and strategic merge patches, of status too; UpdateStatus")
}

func (c *cluster) applied() {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	mine := corev1apply.ConfigMap("applied", c.namespace).WithData(map[string]string{"a": "1", "b": "1"})
	must(maps.Apply(c.ctx, mine, metav1.ApplyOptions{FieldManager: "one"}))
	other := corev1apply.ConfigMap("applied", c.namespace).WithData(map[string]string{"b": "2", "c": "2"})
	_, err := maps.Apply(c.ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	expect(apierrors.IsConflict(err), "two managers of one field are %v", err)
	causes := err.(apierrors.APIStatus).Status().Details.Causes
	expect(len(causes) == 1 && causes[0].Type == metav1.CauseTypeFieldManagerConflict && causes[0].Field == ".data.b", "the causes are %+v", causes)
	found := must(maps.Apply(c.ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true}))
	left := must(corev1apply.ExtractConfigMap(found, "one"))
	expect(len(left.Data) == 1 && left.Data["a"] == "1", "of manager one is left: %v", left.Data)
	found = must(maps.Apply(c.ctx, corev1apply.ConfigMap("applied", c.namespace), metav1.ApplyOptions{FieldManager: "two"}))
	expect(fmt.Sprint(found.Data) == "map[a:1]", "data without those of manager two are %v", found.Data)
	done("server-side apply: conflict, force, extraction, giving up fields")
}

func (c *cluster) conflicts() {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	must(maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: objectMeta("counter")}, create))
	const goroutines, turns = 8, 10
	patient := wait.Backoff{Steps: 1000, Duration: time.Millisecond, Factor: 1, Jitter: 5}
	var group sync.WaitGroup
	var incremented atomic.Int64
	for range goroutines {
		group.Go(func() {
			for range turns {
				err := retry.RetryOnConflict(patient, func() error {
					found, err := maps.Get(c.ctx, "counter", get)
					if err != nil {
						return err
					}
					found.Data = map[string]string{"count": found.Data["count"] + "1"}
					_, err = maps.Update(c.ctx, found, update)
					return err
				})
				if err == nil {
					incremented.Add(1)
				}
			}
		})
	}
	group.Wait()
	count := len(must(maps.Get(c.ctx, "counter", get)).Data["count"])
	expect(incremented.Load() == goroutines*turns, "%d of %d increments succeeded", incremented.Load(), goroutines*turns)
	expect(count == goroutines*turns, "%d of %d increments are left", count, goroutines*turns)
	done("RetryOnConflict: no increment of %d is lost", count)
}

func (c *cluster) refusals() {
	pods := c.CoreV1().Pods(c.namespace)
	_, err := pods.Create(c.ctx, pod("patched", ""), create)
	expect(apierrors.IsAlreadyExists(err), "the same name again is %v", err)
	_, err = pods.Get(c.ctx, "absent", get)
	expect(apierrors.IsNotFound(err), "no pod is %v", err)
	_, err = pods.Create(c.ctx, pod("not valid", ""), create)
	expect(apierrors.IsInvalid(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid), "a bad name is %v", err)
	_, err = c.CoreV1().Pods("absent").Create(c.ctx, pod("a", ""), create)
	expect(apierrors.IsNotFound(err), "no namespace is %v", err)
	stale := types.UID("stale")
	err = pods.Delete(c.ctx, "patched", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &stale}})
	expect(apierrors.IsConflict(err), "another UID is %v", err)
	tried := must(pods.Create(c.ctx, pod("tried", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	_, err = pods.Get(c.ctx, "tried", get)
	expect(tried.UID != "" && apierrors.IsNotFound(err), "a dry run made %q, and then %v", tried.UID, err)
	_, err = c.CoreV1().RESTClient().Get().AbsPath("/apis/nothing.example.com/v1").DoRaw(c.ctx)
	expect(apierrors.IsNotFound(err), "no group is %v", err)
	done("errors are told apart: exists, not found, invalid, conflict; dry runs")
}

func (c *cluster) podSubresources() {
	pods := c.CoreV1().Pods(c.namespace)
	must(pods.Create(c.ctx, pod("bound", ""), create))
	target := corev1.ObjectReference{Kind: "Node", Name: "worker-1"}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "bound", Annotations: map[string]string{"bound": "yes"}}, Target: target}
	try(pods.Bind(c.ctx, binding, create))
	found := must(pods.Get(c.ctx, "bound", get))
	expect(found.Spec.NodeName == "worker-1" && found.Annotations["bound"] == "yes", "it is bound to %q", found.Spec.NodeName)
	err := pods.Bind(c.ctx, binding, create)
	expect(apierrors.IsConflict(err), "binding again is %v", err)
	done("binding")
}

func (c *cluster) evictions() {
	pods := c.CoreV1().Pods(c.namespace)
	must(pods.Create(c.ctx, pod("evicted", ""), create))
	try(pods.EvictV1(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted"}}))
	_, err := pods.Get(c.ctx, "evicted", get)
	expect(apierrors.IsNotFound(err), "an evicted pod is %v", err)
	done("evictions")
}

func (c *cluster) deletions() {
	pods := c.CoreV1().Pods(c.namespace)
	for index := range 10 {
		made := pod(fmt.Sprintf("many-%d", index), "")
		made.Labels["parity"] = fmt.Sprint(index % 2)
		made.Spec.NodeName = fmt.Sprintf("worker-%d", index%3)
		must(pods.Create(c.ctx, made, create))
	}
	odd := metav1.ListOptions{LabelSelector: "parity in (1), made-by"}
	expect(len(must(pods.List(c.ctx, odd)).Items) == 5, "the label selector found others")
	on := metav1.ListOptions{FieldSelector: "spec.nodeName=worker-1,metadata.namespace=" + c.namespace + ",status.phase!=Running", LabelSelector: "parity"}
	expect(len(must(pods.List(c.ctx, on)).Items) == 3, "the field selector found %d", len(must(pods.List(c.ctx, on)).Items))
	now := int64(0)
	try(pods.DeleteCollection(c.ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, odd))
	left := must(pods.List(c.ctx, metav1.ListOptions{LabelSelector: "parity"}))
	expect(len(left.Items) == 5, "%d pods are left", len(left.Items))
	c.deletedOwner()
	done("selectors, DeleteCollection, and what becomes of dependents")
}

func (c *cluster) deletedOwner() {
	policy := metav1.DeletePropagationBackground
	maps := c.CoreV1().ConfigMaps(c.namespace)
	owner := must(maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, create))
	block := true
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "dependent-", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block},
	}}}
	dependent := must(maps.Create(c.ctx, made, create))
	try(maps.Delete(c.ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	c.eventually("the owner to go", func() bool {
		_, err := maps.Get(c.ctx, owner.Name, get)
		return apierrors.IsNotFound(err)
	})
	c.eventually("the dependent to go", func() bool {
		_, err := maps.Get(c.ctx, dependent.Name, get)
		return apierrors.IsNotFound(err)
	})
}
