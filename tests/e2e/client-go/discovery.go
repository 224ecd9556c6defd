package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"
)

var (
	dynamicPaths = dynamic.LegacyAPIPathResolverFunc
	claimKind    = schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

func (c *cluster) mapper() *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery()))
}

// discoveries asks what the server serves, and uses it without knowing its types.
func discoveries(c *cluster) {
	c.versions()
	mapping := must(c.mapper().RESTMapping(claimKind.GroupKind()))
	expect(mapping.Resource.Version == "v1" && mapping.Scope.Name() == meta.RESTScopeNameNamespace, "the mapping is %+v", mapping)
	short := must(restmapper.NewShortcutExpander(c.mapper(), c.Discovery(), nil).ResourceFor(schema.GroupVersionResource{Resource: "deploy"}))
	expect(short.Resource == "deployments", "deploy is %v", short)
	c.openAPI()
	c.dynamics(mapping.Resource)
	c.metadatas()
	c.authentication()
}

func (c *cluster) versions() {
	version := must(c.Discovery().ServerVersion())
	aggregated := must(c.Discovery().ServerPreferredResources())
	legacy := discovery.NewDiscoveryClientForConfigOrDie(c.config)
	legacy.UseLegacyDiscovery = true
	one, two := must(c.discovered(c.Discovery())), must(c.discovered(legacy))
	expect(one == two, "aggregated and unaggregated discovery differ:\n%s\n%s", one, two)
	done("version %s, %d group versions in both kinds of discovery", version.GitVersion, len(aggregated))
}

func (c *cluster) discovered(client discovery.DiscoveryInterface) (string, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return "", err
	}
	sort.Slice(lists, func(i, j int) bool { return lists[i].GroupVersion < lists[j].GroupVersion })
	for _, list := range lists { // what the aggregated kind has not, or has more
		list.TypeMeta = metav1.TypeMeta{}
		for index, resource := range list.APIResources {
			list.APIResources[index].StorageVersionHash = ""
			if strings.Contains(resource.Name, "/") {
				list.APIResources[index].SingularName = ""
			}
		}
	}
	text, err := json.Marshal(lists)
	return string(text), err
}

func (c *cluster) openAPI() {
	root := openapi3.NewRoot(c.Discovery().OpenAPIV3())
	found := must(root.GVSpec(schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}))
	one := found.Paths.Paths["/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"]
	expect(one != nil && one.Patch != nil, "OpenAPI v3 has no path of claims")
	done("OpenAPI v3 of %d group versions", len(must(root.GroupVersions())))
}

func (c *cluster) dynamics(resource schema.GroupVersionResource) {
	objects := dynamic.NewForConfigOrDie(c.config).Resource(resource).Namespace(c.namespace)
	content := must(runtime.DefaultUnstructuredConverter.ToUnstructured(claim("dynamic")))
	made := &unstructured.Unstructured{Object: content}
	made.SetGroupVersionKind(claimKind)
	found := must(objects.Create(c.ctx, made, create))
	found.SetLabels(map[string]string{"dynamic": "yes"})
	must(objects.Update(c.ctx, found, update))
	applied := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"applied": "yes"}}}}
	applied.SetGroupVersionKind(claimKind)
	applied.SetName("dynamic")
	found = must(objects.Apply(c.ctx, "dynamic", applied, metav1.ApplyOptions{FieldManager: "dynamic"}))
	expect(found.GetLabels()["dynamic"] == "yes" && found.GetAnnotations()["applied"] == "yes", "the metadata are %v", found.Object["metadata"])
	watch := must(objects.Watch(c.ctx, metav1.ListOptions{ResourceVersion: found.GetResourceVersion()}))
	defer watch.Stop()
	try(objects.Delete(c.ctx, "dynamic", metav1.DeleteOptions{}))
	event := <-watch.ResultChan()
	expect(event.Type == "DELETED", "the event is %+v", event)
	done("dynamic client: create, update, apply, watch, delete")
}

func (c *cluster) metadatas() {
	must(c.CoreV1().Pods(c.namespace).Create(c.ctx, pod("partly", ""), create))
	config := metadata.ConfigFor(typed(c.config, c.options.content))
	objects := metadata.NewForConfigOrDie(config).Resource(podResource).Namespace(c.namespace)
	found := must(objects.Get(c.ctx, "partly", get))
	expect(found.Labels["made-by"] == "client-go", "partly it is %+v", found)
	patched := must(objects.Patch(c.ctx, "partly", types.MergePatchType, []byte(`{"metadata":{"labels":{"partly":"patched"}}}`), patch))
	expect(patched.Labels["partly"] == "patched", "the labels are %v", patched.Labels)
	list := must(objects.List(c.ctx, metav1.ListOptions{}))
	expect(len(list.Items) == 1 && list.ResourceVersion != "", "the list is %+v", list)
	watch := must(objects.Watch(c.ctx, metav1.ListOptions{ResourceVersion: found.ResourceVersion}))
	defer watch.Stop()
	event := <-watch.ResultChan()
	part, isPart := event.Object.(*metav1.PartialObjectMetadata)
	expect(isPart && part.Labels["partly"] == "patched", "the event is %+v", event)
	try(objects.Delete(c.ctx, "partly", metav1.DeleteOptions{}))
	done("metadata client: get, patch, list, watch, delete")
}

func (c *cluster) authentication() {
	anonymous := rest.AnonymousClientConfig(c.config)
	_, err := discovery.NewDiscoveryClientForConfigOrDie(anonymous).ServerVersion()
	expect(err == nil || apierrors.IsUnauthorized(err), "nobody's version is %v", err)
	_, err = dynamic.NewForConfigOrDie(anonymous).Resource(podResource).Namespace(c.namespace).List(c.ctx, metav1.ListOptions{})
	expect(apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err), "nobody's list is %v", err)
	wrong := rest.CopyConfig(anonymous)
	wrong.BearerToken = "wrong"
	_, err = dynamic.NewForConfigOrDie(wrong).Resource(podResource).Namespace(c.namespace).List(c.ctx, metav1.ListOptions{})
	expect(apierrors.IsUnauthorized(err), "a wrong token is %v", err)
	done("who has no token, or a wrong one, is refused")
}

// paging lists with a limit, which the server may ignore, and watches from a version that it has forgotten.
func paging(c *cluster) {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	const count = 57
	for index := range count {
		must(maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: objectMeta(fmt.Sprintf("page-%03d", index))}, create))
	}
	page := must(maps.List(c.ctx, metav1.ListOptions{Limit: 10}))
	pages := 0
	pager := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		pages++
		return maps.List(c.ctx, options)
	}))
	pager.PageSize = 10
	seen := 0
	try(pager.EachListItem(c.ctx, metav1.ListOptions{}, func(runtime.Object) error { seen++; return nil }))
	expect(seen == count, "%d of %d were in the pages", seen, count)
	old := page.ResourceVersion
	for index := range 3 * c.options.count {
		must(maps.Update(c.ctx, &corev1.ConfigMap{ObjectMeta: objectMeta("page-000"), Data: map[string]string{"turn": fmt.Sprint(index)}}, update))
	}
	if c.isExpired(old) {
		done("%d objects in %d pages; an expired watch", seen, pages)
		return
	}
	done("%d objects in %d pages", seen, pages)
}

func (c *cluster) isExpired(version string) bool {
	watch, err := c.CoreV1().ConfigMaps(c.namespace).Watch(c.ctx, metav1.ListOptions{ResourceVersion: version})
	if err == nil {
		defer watch.Stop()
		if event := <-watch.ResultChan(); event.Type == "ERROR" {
			err = apierrors.FromObject(event.Object)
		}
	}
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
