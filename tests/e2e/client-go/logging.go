package main

import (
	"bytes"
	"flag"
	"regexp"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// What candidates for a lease and contexts that end have logged by themselves.
var expected = regexp.MustCompile(`context canceled|leaderelection\.go.*(object has been modified|already exists)`)

// What is no complaint about a server that goes and comes back.
var absence = regexp.MustCompile(`connection refused|connection reset|unexpected EOF|EOF|http2: |apiserver is shutting down|broken pipe|very short watch`)

// log is what client-go logged.
type log struct {
	mutex sync.Mutex
	lines bytes.Buffer
}

// listen has client-go log into memory, warnings of the server included.
func listen() *log {
	made := &log{}
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	try(flags.Parse([]string{"-logtostderr=false", "-one_output=true", "-stderrthreshold=FATAL", "-v=2"}))
	klog.SetOutput(made)
	rest.SetDefaultWarningHandler(rest.WarningLogger{})
	return made
}

func (l *log) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lines.Write(data)
}

// complaints are warnings and errors; client-go logs some of its warnings as information.
func (l *log) complaints(absent bool) []string {
	klog.Flush()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var found []string
	for _, line := range strings.Split(l.lines.String(), "\n") {
		severe := strings.HasPrefix(line, "W") || strings.HasPrefix(line, "E") || strings.Contains(line, `"Warning: `)
		known := expected.MatchString(line) || absent && absence.MatchString(line)
		if severe && !known {
			found = append(found, line)
		}
	}
	return found
}
