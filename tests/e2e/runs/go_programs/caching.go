// A cache of devices before examples/scheduler.go, whose functions it uses: a pod is bound by a
// goroutine of its own, and a claim is in flight until its allocation is written. The gather has a
// planted bug, unless `repaired` is set: it reads the two halves of the book one after the other.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

var repaired string

type book struct {
	mu                  sync.Mutex
	allocated, inFlight map[string][]string // uid of a claim -> devices
}

func add(taken map[string]bool, claims map[string][]string) {
	for _, devices := range claims {
		for _, device := range devices {
			taken[device] = true
		}
	}
}

func (b *book) copyAllocated(taken map[string]bool) { b.mu.Lock(); defer b.mu.Unlock(); add(taken, b.allocated) }

func (b *book) copyInFlight(taken map[string]bool) { b.mu.Lock(); defer b.mu.Unlock(); add(taken, b.inFlight) }

func (b *book) gatherTaken() map[string]bool {
	taken := map[string]bool{}
	if repaired == "" {
		b.copyAllocated(taken) // a claim that is written now is in neither half
		b.copyInFlight(taken)
		return taken
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	add(taken, b.allocated)
	add(taken, b.inFlight)
	return taken
}

func (b *book) startFlight(claim string, devices []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight[claim] = devices
}

func (b *book) assumeAllocated(claim string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allocated[claim] = b.inFlight[claim]
	delete(b.inFlight, claim)
}

func (b *book) forgetGone(alive map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for claim := range b.allocated {
		if !alive[claim] {
			delete(b.allocated, claim)
		}
	}
}

type caching struct {
	*scheduler
	book book
	busy map[string]bool
}

func (c *caching) look() error {
	claims, err := c.items(dra + "/resourceclaims")
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, claim := range claims {
		alive[text(claim, "metadata", "uid")] = true
	}
	c.book.forgetGone(alive)
	pods, err := c.items("/api/v1/pods?fieldSelector=spec.nodeName=")
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if uid := text(pod, "metadata", "uid"); text(pod, "spec", "schedulerName") == c.name && !c.busy[uid] {
			c.busy[uid] = c.plan(pod)
		}
	}
	return nil
}

func (c *caching) plan(pod any) bool {
	claims, err := c.claimsOf(pod)
	slices, other := c.items(dra + "/resourceslices")
	if err != nil || other != nil || len(claims) != 1 || len(results(claims[0])) > 0 {
		return false
	}
	var free []object
	taken, node := c.book.gatherTaken(), ""
	for _, slice := range slices {
		driver, pool := text(slice, "spec", "driver"), text(slice, "spec", "pool", "name")
		for _, device := range list(slice, "spec", "devices") {
			if name := text(device, "name"); !taken[key(driver, pool, name)] && len(free) == 0 {
				node, free = text(slice, "spec", "nodeName"), []object{{"driver": driver, "pool": pool, "device": name}}
			}
		}
	}
	if len(free) == 0 {
		return false
	}
	device := key(text(free[0], "driver"), text(free[0], "pool"), text(free[0], "device"))
	c.book.startFlight(text(claims[0], "metadata", "uid"), []string{device})
	go c.write(claims[0], pod, node, free)
	return true
}

func (c *caching) write(claim object, pod any, node string, free []object) {
	if _, err := c.allocateAndReserve(claim, pod, node, &free); err != nil {
		fmt.Println(err)
	}
	c.book.assumeAllocated(text(claim, "metadata", "uid"))
	if err := c.bind(pod, node); err != nil {
		fmt.Println(err)
	}
}

func main() {
	s, err := load(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	empty := func() map[string][]string { return map[string][]string{} }
	c := &caching{scheduler: s, book: book{allocated: empty(), inFlight: empty()}, busy: map[string]bool{}}
	for {
		if err := c.look(); err != nil {
			fmt.Println(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
