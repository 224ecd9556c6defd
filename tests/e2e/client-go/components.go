package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// election has three candidates lead one after the other, each until it steps down.
func election(c *cluster) {
	const candidates = 3
	var mutex sync.Mutex
	var leading int
	var led []string
	var group sync.WaitGroup
	for index := range candidates {
		name := fmt.Sprintf("candidate-%d", index)
		ctx, stepDown := context.WithCancel(c.ctx)
		elector := must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:          must(resourcelock.New("leases", c.namespace, "leader", c.CoreV1(), c.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})),
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					mutex.Lock()
					defer mutex.Unlock()
					leading++
					led = append(led, name)
					expect(leading == 1, "%d candidates lead", leading)
					time.AfterFunc(300*time.Millisecond, func() {
						mutex.Lock()
						leading--
						mutex.Unlock()
						stepDown()
					})
				},
				OnStoppedLeading: func() {},
			},
		}))
		group.Go(func() { elector.Run(ctx) })
		c.eventually("a leader", func() bool {
			_, err := c.CoordinationV1().Leases(c.namespace).Get(c.ctx, "leader", get)
			return err == nil
		})
	}
	group.Wait()
	lease := must(c.CoordinationV1().Leases(c.namespace).Get(c.ctx, "leader", get))
	expect(len(led) == candidates && *lease.Spec.LeaseTransitions >= candidates-1, "%v have led in %d transitions", led, *lease.Spec.LeaseTransitions)
	done("%d candidates have led one after the other", candidates)
}

// eventRecorders record the same event many times, by both recorders that Kubernetes has: it is counted in one object.
func eventRecorders(c *cluster) {
	regarding := must(c.CoreV1().Pods(c.namespace).Create(c.ctx, pod("regarded", ""), create))
	c.coreEvents(regarding)
	c.seriesOfEvents(regarding)
}

func (c *cluster) coreEvents(regarding *corev1.Pod) {
	broadcaster := record.NewBroadcaster(record.WithContext(c.ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "client-go"})
	for range 5 {
		recorder.Event(regarding, corev1.EventTypeWarning, "FailedScheduling", "0/1 nodes are available")
	}
	var found []corev1.Event
	c.eventually("the events to be counted", func() bool {
		found = must(c.CoreV1().Events(c.namespace).Search(scheme.Scheme, regarding)).Items
		return len(found) == 1 && found[0].Count == 5
	})
	done("core/v1: five times recorded, one event with a count of %d", found[0].Count)
}

func (c *cluster) seriesOfEvents(regarding *corev1.Pod) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.EventsV1()})
	defer broadcaster.Shutdown()
	try(broadcaster.StartRecordingToSinkWithContext(c.ctx))
	recorder := broadcaster.NewRecorder(scheme.Scheme, "client-go/scheduler")
	for range 5 {
		recorder.Eventf(regarding, nil, corev1.EventTypeNormal, "Scheduled", "Binding", "assigned to %s", "worker-1")
	}
	only := metav1.ListOptions{FieldSelector: "reason=Scheduled,reportingController=client-go/scheduler"}
	var found []eventsv1.Event
	c.eventually("the series", func() bool {
		found = must(c.EventsV1().Events(c.namespace).List(c.ctx, only)).Items
		return len(found) == 1 && found[0].Series != nil
	})
	old := must(c.CoreV1().Events(c.namespace).Get(c.ctx, found[0].Name, get))
	expect(old.Source.Component == "" && old.ReportingController == "client-go/scheduler" && old.InvolvedObject.UID == regarding.UID, "as core/v1 it is %+v", old)
	done("events.k8s.io/v1: a series of %d", found[0].Series.Count)
}
