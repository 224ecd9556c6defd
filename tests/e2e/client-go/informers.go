package main

import (
	"context"
	"fmt"
	"math/rand"

	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// watched is one shared informer, how its objects are listed anew, and what its events said.
type watched struct {
	name     string
	informer cache.SharedIndexInformer
	list     func(context.Context, kubernetes.Interface) (runtime.Object, error)
	restarts bool

	mutex                   sync.Mutex
	seen                    map[string]uint64
	newest                  uint64
	added, updated, deleted int
	problems                []string
}

func watchedKinds(factory informers.SharedInformerFactory) []*watched {
	all := metav1.ListOptions{}
	return []*watched{
		{name: "pods", informer: factory.Core().V1().Pods().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Pods("").List(ctx, all)
		}},
		{name: "nodes", informer: factory.Core().V1().Nodes().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Nodes().List(ctx, all)
		}},
		{name: "namespaces", informer: factory.Core().V1().Namespaces().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Namespaces().List(ctx, all)
		}},
		{name: "leases", informer: factory.Coordination().V1().Leases().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.CoordinationV1().Leases("").List(ctx, all)
		}},
		{name: "events", informer: factory.Events().V1().Events().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.EventsV1().Events("").List(ctx, all)
		}},
		{name: "resourceclaims", informer: factory.Resource().V1().ResourceClaims().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.ResourceV1().ResourceClaims("").List(ctx, all)
		}},
		{name: "resourceclaimtemplates", informer: factory.Resource().V1().ResourceClaimTemplates().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.ResourceV1().ResourceClaimTemplates("").List(ctx, all)
		}},
		{name: "resourceslices", informer: factory.Resource().V1().ResourceSlices().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.ResourceV1().ResourceSlices().List(ctx, all)
		}},
		{name: "deviceclasses", informer: factory.Resource().V1().DeviceClasses().Informer(), list: func(ctx context.Context, c kubernetes.Interface) (runtime.Object, error) {
			return c.ResourceV1().DeviceClasses().List(ctx, all)
		}},
	}
}

// informersUnderLoad has caches of everything that a scheduler watches follow many writers, and compares them with what is there.
func informersUnderLoad(c *cluster) {
	factory := informers.NewSharedInformerFactory(c, 0)
	kinds := watchedKinds(factory)
	for _, kind := range kinds {
		kind.seen, kind.restarts = map[string]uint64{}, c.options.restarts
		must(kind.informer.AddEventHandler(kind))
	}
	ctx, stop := context.WithCancel(c.ctx)
	defer factory.Shutdown()
	defer stop()
	started := time.Now()
	factory.StartWithContext(ctx)
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		expect(synced, "%v did not sync", kind)
	}
	done("%d caches synced in %v", len(kinds), time.Since(started).Round(time.Millisecond))
	fmt.Println("writing")
	written := c.write()
	for _, kind := range kinds {
		kind.compare(c)
	}
	done("%d writes by %d writers, %.0f a second", written, c.options.writers, float64(written)/c.options.duration.Seconds())
}

// compare waits until the cache is what a fresh list says, in JSON, and then judges the events.
func (w *watched) compare(c *cluster) {
	fresh := kubernetes.NewForConfigOrDie(typed(c.config, "json"))
	var difference string
	c.eventually(w.name+" in the cache", func() bool {
		listed, err := w.list(c.ctx, fresh)
		if err != nil && w.restarts && isAbsence(err) {
			return false
		}
		try(err)
		difference = w.difference(listed)
		return difference == ""
	}, &difference)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	expect(len(w.problems) == 0, "%s: %d problems, the first: %v", w.name, len(w.problems), w.problems)
	done("%s: %d objects after %d added, %d updated, %d deleted", w.name, len(w.seen), w.added, w.updated, w.deleted)
}

func (w *watched) difference(listed runtime.Object) string {
	items := must(meta.ExtractList(listed))
	if cached := len(w.informer.GetStore().ListKeys()); cached != len(items) {
		return fmt.Sprintf("%d objects are listed, and %d in the cache", len(items), cached)
	}
	for _, item := range items {
		key := must(cache.MetaNamespaceKeyFunc(item))
		cached, _, err := w.informer.GetStore().GetByKey(key)
		try(err)
		if !apiequality.Semantic.DeepEqual(cached, item) {
			return fmt.Sprintf("%s is\n%+v\nand in the cache\n%+v", key, item, cached)
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.seen) != len(items) {
		return fmt.Sprintf("events leave %d objects of %d", len(w.seen), len(items))
	}
	return ""
}

// ------------------------------------------------------------------ what events say

func (w *watched) OnAdd(made any, initial bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key, version := w.read(made, initial)
	_, present := w.seen[key]
	w.require(!present, "%s was added twice", key)
	w.seen[key] = version
	w.added++
}

func (w *watched) OnUpdate(before, after any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, old := w.read(before, true)
	key, version := w.read(after, false)
	isNew := old < version || w.restarts && old == version // as after a list
	w.require(w.seen[key] == old && isNew, "%s went from %d, seen at %d, to %d", key, old, w.seen[key], version)
	w.seen[key] = version
	w.updated++
}

func (w *watched) OnDelete(last any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if tombstone, missed := last.(cache.DeletedFinalStateUnknown); missed {
		w.require(w.restarts, "the deletion of %s was missed", tombstone.Key)
		delete(w.seen, tombstone.Key)
		return
	}
	key, version := w.read(last, false)
	w.require(w.seen[key] > 0 && w.seen[key] < version, "%s was deleted at %d, and seen at %d", key, version, w.seen[key])
	delete(w.seen, key)
	w.deleted++
}

// read gives key and version; without restarts, events come in the order of their versions.
func (w *watched) read(object any, unordered bool) (string, uint64) {
	key := must(cache.MetaNamespaceKeyFunc(object))
	version := must(strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64))
	if !unordered && !w.restarts {
		w.require(version > w.newest, "%s came at %d after another at %d", key, version, w.newest)
		w.newest = version
	}
	return key, version
}

func (w *watched) require(holds bool, format string, values ...any) {
	if !holds {
		w.problems = append(w.problems, fmt.Sprintf(format, values...))
	}
}

// ------------------------------------------------------------------ writers

// client is what all typed clients of one kind have in common.
type client[T metav1.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// life is one object's, from its creation on, with some updates and patches, mostly to its deletion. It says how many writes succeeded.
type life func(ctx context.Context, name string, random *rand.Rand) (int, error)

func lifeOf[T metav1.Object](objects client[T], made func(name string) T) life {
	return func(ctx context.Context, name string, random *rand.Rand) (count int, err error) {
		if _, err = objects.Create(ctx, made(name), metav1.CreateOptions{}); err != nil {
			return count, err
		}
		count++
		for range random.Intn(3) {
			if err = retry.RetryOnConflict(retry.DefaultRetry, func() error { return annotate(ctx, objects, name) }); err != nil {
				return count, err
			}
			patch := fmt.Sprintf(`{"metadata":{"labels":{"patched":"%d"}}}`, random.Int63())
			if _, err = objects.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				return count, err
			}
			count += 2
		}
		if random.Intn(4) > 0 {
			now := int64(0)
			err = objects.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			count++
		}
		return count, err
	}
}

func annotate[T metav1.Object](ctx context.Context, objects client[T], name string) error {
	found, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		found.SetAnnotations(map[string]string{"previous": found.GetResourceVersion()})
		_, err = objects.Update(ctx, found, metav1.UpdateOptions{})
	}
	return err
}

func (c *cluster) lives() []life {
	regarding := corev1.ObjectReference{Kind: "Namespace", Name: c.namespace, Namespace: c.namespace}
	return []life{
		lifeOf(c.CoreV1().Pods(c.namespace), func(name string) *corev1.Pod { return pod(name, "") }),
		lifeOf(c.CoreV1().Nodes(), node),
		lifeOf(c.CoordinationV1().Leases(c.namespace), func(name string) *coordinationv1.Lease {
			return &coordinationv1.Lease{ObjectMeta: objectMeta(name)}
		}),
		lifeOf(c.EventsV1().Events(c.namespace), func(name string) *eventsv1.Event {
			return &eventsv1.Event{
				ObjectMeta: objectMeta(name), EventTime: metav1.NowMicro(), Regarding: regarding, Type: "Normal",
				Reason: "Tried", Action: "Trying", ReportingController: driver, ReportingInstance: driver + "-1",
			}
		}),
		lifeOf(c.ResourceV1().ResourceClaims(c.namespace), claim),
		lifeOf(c.ResourceV1().ResourceClaimTemplates(c.namespace), template),
		lifeOf(c.ResourceV1().ResourceSlices(), slice),
		lifeOf(c.ResourceV1().DeviceClasses(), class),
	}
}

// write plays lives of all kinds, in turn by every writer, and says how many writes there were.
func (c *cluster) write() int64 {
	var group sync.WaitGroup
	var written atomic.Int64
	var first atomic.Value
	end := time.Now().Add(c.options.duration)
	for writer := range c.options.writers {
		random := rand.New(rand.NewSource(int64(writer)))
		group.Go(func() {
			lives := c.lives()
			for turn := 0; time.Now().Before(end); turn++ {
				name := fmt.Sprintf("%s-%d-%d", c.namespace, writer, turn)
				count, err := lives[(writer+turn)%len(lives)](c.ctx, name, random)
				written.Add(int64(count))
				if err != nil && !(c.options.restarts && isAbsence(err)) {
					first.CompareAndSwap(nil, err.Error())
				}
			}
		})
	}
	group.Wait()
	expect(first.Load() == nil, "a write failed: %v", first.Load())
	return written.Load()
}

// isAbsence also holds for what was done although the answer was lost: then it is done already.
func isAbsence(err error) bool {
	if utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) {
		time.Sleep(20 * time.Millisecond)
		return true
	}
	return apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || strings.Contains(err.Error(), "EOF")
}
