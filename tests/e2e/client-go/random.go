package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/randfill"
)

// randomObjects creates objects with random fields in JSON and in protobuf: both come to the same, whether they are accepted or refused.
func randomObjects(c *cluster) {
	other := "json"
	if c.options.content == "json" {
		other = "protobuf"
	}
	pair := [2]kubernetes.Interface{c, kubernetes.NewForConfigOrDie(typed(c.config, other))}
	filler := randfill.NewWithSeed(c.options.seed).NilChance(0.5).NumElements(1, 2).MaxDepth(12).Funcs(plausible()...)
	random := rand.New(rand.NewSource(c.options.seed))
	tryKind(c, random, filler, "Pod", pair, func(k kubernetes.Interface) client[*corev1.Pod] { return k.CoreV1().Pods(c.namespace) },
		func() *corev1.Pod { return pod("", "") })
	tryKind(c, random, filler, "Node", pair, func(k kubernetes.Interface) client[*corev1.Node] { return k.CoreV1().Nodes() },
		func() *corev1.Node { return node("") })
	tryKind(c, random, filler, "ResourceClaim", pair, func(k kubernetes.Interface) client[*resourcev1.ResourceClaim] {
		return k.ResourceV1().ResourceClaims(c.namespace)
	},
		func() *resourcev1.ResourceClaim { return claim("") })
	tryKind(c, random, filler, "ResourceClaimTemplate", pair, func(k kubernetes.Interface) client[*resourcev1.ResourceClaimTemplate] {
		return k.ResourceV1().ResourceClaimTemplates(c.namespace)
	},
		func() *resourcev1.ResourceClaimTemplate { return template("") })
	tryKind(c, random, filler, "ResourceSlice", pair, func(k kubernetes.Interface) client[*resourcev1.ResourceSlice] { return k.ResourceV1().ResourceSlices() },
		func() *resourcev1.ResourceSlice { return slice("") })
	tryKind(c, random, filler, "DeviceClass", pair, func(k kubernetes.Interface) client[*resourcev1.DeviceClass] { return k.ResourceV1().DeviceClasses() },
		func() *resourcev1.DeviceClass { return class("") })
}

// unambiguous leaves out what another field says as well, which would win.
func unambiguous(made any) {
	switch made := made.(type) {
	case *corev1.Pod:
		made.Spec.DeprecatedServiceAccount = ""
		made.Status.PodIPs = nil
	case *corev1.Node:
		made.Spec.PodCIDRs = nil
	}
}

type object interface {
	metav1.Object
	runtime.Object
}

type statusClient[T any] interface {
	UpdateStatus(context.Context, T, metav1.UpdateOptions) (T, error)
}

// survey is which fields were set and kept, and which were dropped.
type survey struct{ set, dropped map[string]bool }

// tryKind fills parts of a valid object at random.
func tryKind[T object](c *cluster, random *rand.Rand, filler *randfill.Filler, name string, pair [2]kubernetes.Interface, clients func(kubernetes.Interface) client[T], valid func() T) {
	accepted, refusal, fields := 0, error(nil), survey{map[string]bool{}, map[string]bool{}}
	for index := range c.options.count {
		made := valid()
		made.SetName(fmt.Sprintf("%s-%d", c.namespace, index))
		fillParts(reflect.ValueOf(made).Elem(), random, filler)
		unambiguous(made)
		one, err := created(c, clients(pair[0]), made)
		two, otherErr := created(c, clients(pair[1]), made)
		expect(fmt.Sprint(err) == fmt.Sprint(otherErr), "%s is answered %v and %v:\n%s", name, err, otherErr, encode(made))
		if err != nil {
			expect(apierrors.IsInvalid(err) || apierrors.IsForbidden(err), "%s is answered %v:\n%s", name, err, encode(made))
			refusal = err
			continue
		}
		accepted++
		expect(apiequality.Semantic.DeepEqual(one, two), "in the one encoding it becomes\n%s\nin the other\n%s", encode(one), encode(two))
		fields.kept("", plain(made), plain(two))
	}
	expect(accepted > 0, "none of %d objects of kind %s was accepted: %v", c.options.count, name, refusal)
	done("%s: %d of %d accepted, the same in both encodings, %d fields were set; dropped: %v", name, accepted, c.options.count, len(fields.set), slices.Sorted(maps.Keys(fields.dropped)))
}

// fillParts fills some of the fields in spec and status, one level deeper where they have one field only.
func fillParts(object reflect.Value, random *rand.Rand, filler *randfill.Filler) {
	for _, name := range []string{"Spec", "Status"} {
		part := object.FieldByName(name)
		for part.IsValid() && part.NumField() == 1 && part.Field(0).Kind() == reflect.Struct {
			part = part.Field(0)
		}
		for index := 0; part.IsValid() && index < part.NumField(); index++ {
			fixed := object.Type() == reflect.TypeFor[resourcev1.ResourceSlice]() && part.Type().Field(index).Name != "Devices"
			if !fixed && random.Intn(1+min(part.NumField(), 4)/2) == 0 {
				filler.Fill(part.Field(index).Addr().Interface())
			}
		}
	}
}

// created is the object as the server keeps it, its status written as well; then it is deleted.
func created[T object](c *cluster, objects client[T], made T) (T, error) {
	found, err := objects.Create(c.ctx, made, create)
	if err != nil {
		return found, err
	}
	defer func() {
		now := int64(0)
		try(objects.Delete(c.ctx, made.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}()
	if status := reflect.ValueOf(made).Elem().FieldByName("Status"); status.IsValid() {
		reflect.ValueOf(found).Elem().FieldByName("Status").Set(status)
		if found, err = objects.(statusClient[T]).UpdateStatus(c.ctx, found, update); err != nil {
			return found, err
		}
	}
	read := must(objects.Get(c.ctx, made.GetName(), get))
	expect(apiequality.Semantic.DeepEqual(found, read), "it is answered as\n%s\nand read as\n%s", encode(found), encode(read))
	found.SetUID("")
	found.SetResourceVersion("")
	found.SetCreationTimestamp(metav1.Time{})
	found.SetManagedFields(nil)
	return found, nil
}

// kept compares what was sent with what was kept of it: fields may be dropped, because their feature is off, but not changed.
func (s *survey) kept(path string, sent, kept any) {
	switch value := sent.(type) {
	case map[string]any:
		found, isMap := kept.(map[string]any)
		for name, item := range value {
			if isMap && found[name] != nil {
				s.kept(path+"."+name, item, found[name])
			} else if item != nil {
				s.dropped[path+"."+name] = true
			}
		}
	case []any:
		found, isList := kept.([]any)
		for index, item := range value {
			if isList && len(found) == len(value) {
				s.kept(path, item, found[index])
			}
		}
	default:
		s.set[path] = true
		expect(fmt.Sprint(sent) == fmt.Sprint(kept), "%s is %v and was %v", path, kept, sent)
	}
}

func encode(object any) []byte { return must(json.Marshal(object)) }

func plain(object any) any {
	var made any
	try(json.Unmarshal(encode(object), &made))
	return made
}
