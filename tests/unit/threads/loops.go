// Goroutines that are preempted, whose stacks grow, and whose garbage is collected.
//
// loops COUNT END: as loops.c.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type book struct {
	mu    sync.Mutex
	pages map[int]int
}

//go:noinline
func (b *book) add(page, number int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages[page] += number
	return b.pages[page]
}

type adder interface{ add(page, number int) int }

type counter struct{ number int }

//go:noinline
func (c *counter) add(page, number int) int {
	c.number += number
	return page
}

//go:noinline
func leaf(a, b int) int { return a*31 + b }

//go:noinline
func large(a int) int {
	var all [200]int
	for i := range all {
		all[i] = a + i
	}
	sum := 0
	for _, one := range all {
		sum += one & 0xff
	}
	return sum
}

//go:noinline
func huge(a int) int {
	var all [2000]int
	all[a%2000] = a
	return large(a) + all[(a+1)%2000]
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return 0
	}
	var room [64]int
	room[n%64] = n
	return deep(n-1) + room[n%64]
}

//go:noinline
func through(to adder, page int) int { return to.add(page, 1) }

//go:noinline
func nothing(at *counter) (got int) {
	defer func() {
		if recover() != nil {
			got = 1
		}
	}()
	return read(at)
}

//go:noinline
func read(at *counter) int { return at.number }

func work(turns, number int, shared *book) int {
	sum, own := 0, &counter{}
	for i := range turns {
		sum = leaf(sum, i)&0xffffff + large(i)&0xf + huge(i)&0xf + nothing(nil)
		to := adder(own)
		if i%2 == 0 {
			to = shared
		}
		sum += through(to, number) & 1
		if i%20 == 0 {
			other := make(chan int)
			go func() { other <- deep(40) }()
			sum += <-other
			_ = make([]byte, 100000)
			runtime.Gosched()
		}
	}
	return sum
}

func main() {
	turns, _ := strconv.Atoi(os.Args[1])
	input := bufio.NewReader(os.Stdin)
	var received atomic.Int64
	signals := make(chan os.Signal, 1000)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			received.Add(1)
		}
	}()
	fmt.Println("ready", os.Getpid())
	if _, err := input.ReadString('\n'); err != nil {
		os.Exit(9)
	}
	shared := &book{pages: map[int]int{}}
	sums := make([]int, 8)
	var all sync.WaitGroup
	for number := range sums {
		all.Add(1)
		go func() {
			defer all.Done()
			sums[number] = work(turns, number, shared)
		}()
	}
	all.Wait()
	fmt.Println(sums, shared.pages)
	if _, err := input.ReadString('\n'); err != nil {
		os.Exit(9)
	}
	time.Sleep(10 * time.Millisecond)
	if os.Args[2] == "panic" {
		panic("told to")
	}
	fmt.Println("signals", received.Load())
	os.Exit(3)
}
