// Command client-go tries an API server with the library that kube-scheduler, the controllers and DRA drivers are made with.
//
//	client-go -kubeconfig K [-content json|protobuf] SCENARIO
//	client-go fields
//
// Each scenario prints one line about each thing that was tried. The exit code is 1 when the server did not do what kube-apiserver
// does, or when client-go logged a warning or an error about it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const timeout = 5 * time.Minute

var scenarios = map[string]func(*cluster){
	"claims":     claims,
	"discovery":  discoveries,
	"election":   election,
	"events":     eventRecorders,
	"informers":  informersUnderLoad,
	"paging":     paging,
	"patches":    patches,
	"random":     randomObjects,
	"scheduling": scheduling,
}

// cluster is what a scenario works with.
type cluster struct {
	kubernetes.Interface
	ctx       context.Context
	config    *rest.Config
	namespace string
	options   options
}

type options struct {
	kubeconfig, content string
	writers, count      int
	seed                int64
	duration            time.Duration
	restarts            bool
}

func main() {
	given := options{}
	flag.StringVar(&given.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the cluster")
	flag.StringVar(&given.content, "content", "protobuf", "what typed clients send and accept: json or protobuf")
	flag.IntVar(&given.writers, "writers", 8, "of the scenario informers")
	flag.DurationVar(&given.duration, "duration", 5*time.Second, "of the writing in the scenario informers")
	flag.BoolVar(&given.restarts, "restarts", false, "the server goes and comes back meanwhile: its absence may be logged")
	flag.IntVar(&given.count, "count", 50, "objects of each kind in the scenario random")
	flag.Int64Var(&given.seed, "seed", 1, "of the scenario random")
	flag.Parse()
	if flag.Arg(0) == "fields" {
		fields()
	} else {
		os.Exit(run(flag.Arg(0), given))
	}
}

func run(name string, given options) int {
	scenario, found := scenarios[name]
	if !found {
		fmt.Fprintln(os.Stderr, "expected one scenario of:", strings.Join(names(), " "))
		return 2
	}
	logged := listen()
	code := attempt(scenario, given)
	for _, line := range logged.complaints(given.restarts) {
		fmt.Println("client-go complained:", line)
		code = 1
	}
	return code
}

func names() []string {
	var found []string
	for name := range scenarios {
		found = append(found, name)
	}
	sort.Strings(found)
	return found
}

// attempt plays a scenario in a namespace of its own.
func attempt(scenario func(*cluster), given options) (code int) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			fmt.Println("FAILED", problem)
			code = 1
		default:
			panic(problem)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	config := must(clientcmd.BuildConfigFromFlags("", given.kubeconfig))
	config.QPS = -1
	made := &cluster{ctx: ctx, config: config, options: given, Interface: kubernetes.NewForConfigOrDie(typed(config, given.content))}
	made.namespace = must(made.CoreV1().Namespaces().Create(ctx, namespaced("client-go-"), metav1.CreateOptions{})).Name
	scenario(made)
	return 0
}

// typed is a configuration for typed clients; the components of Kubernetes set the same when they want protobuf.
func typed(config *rest.Config, content string) *rest.Config {
	made := rest.CopyConfig(config)
	if content == "protobuf" {
		made.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		made.ContentType = "application/vnd.kubernetes.protobuf"
	}
	return made
}

// failure is a server that did something else than was expected.
type failure string

func fail(format string, values ...any) {
	panic(failure(fmt.Sprintf(format, values...)))
}

func expect(holds bool, format string, values ...any) {
	if !holds {
		fail(format, values...)
	}
}

func must[T any](value T, err error) T {
	try(err)
	return value
}

func try(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// eventually waits until something holds; what is wrong as long as it does not may be told.
func (c *cluster) eventually(what string, condition func() bool, wrong ...*string) {
	poll := func(context.Context) (bool, error) { return condition(), nil }
	if err := wait.PollUntilContextTimeout(c.ctx, 10*time.Millisecond, 60*time.Second, true, poll); err != nil {
		for _, text := range wrong {
			what += ": " + *text
		}
		fail("%s: %v", what, err)
	}
}

func done(format string, values ...any) {
	fmt.Printf("ok %s\n", fmt.Sprintf(format, values...))
}
