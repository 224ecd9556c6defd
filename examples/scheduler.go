// A scheduler for DRA of Go's standard library alone, which does what scheduler.py does: one pod at
// a time, always from fresh lists. It knows whole devices of a node.
//
//	go build -o scheduler-go scheduler.go
//	flake-hunt test './scheduler-go {kubeconfig} {scheduler_name}'
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	dra       = "/apis/resource.k8s.io/v1"
	finalizer = "resource.kubernetes.io/delete-protection"
)

// object is the JSON of an API object; get follows keys and gives nil where one is missing.
type object = map[string]any

func get(from any, keys ...string) any {
	for _, key := range keys {
		fields, _ := from.(object)
		from = fields[key]
	}
	return from
}

func text(from any, keys ...string) string { value, _ := get(from, keys...).(string); return value }

func list(from any, keys ...string) []any { value, _ := get(from, keys...).([]any); return value }

type scheduler struct {
	server, token, name string
	http                http.Client
}

// kubeconfig has the fields of a kubeconfig in JSON that this program needs.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server    string `json:"server"`
			Authority []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Token string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

func load(path, name string) (*scheduler, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config kubeconfig
	if err := json.Unmarshal(content, &config); err != nil {
		return nil, err
	}
	cluster := config.Clusters[0].Cluster
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cluster.Authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &scheduler{
		server: cluster.Server,
		token:  config.Users[0].User.Token,
		name:   name,
		http:   http.Client{Transport: transport, Timeout: 30 * time.Second},
	}, nil
}

// call calls the API server; a conflict is an error, too.
func (s *scheduler) call(verb, path string, body any) (object, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		content = nil
	}
	request, err := http.NewRequest(verb, s.server+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 400 {
		return nil, fmt.Errorf("%s %s: %s", verb, path, response.Status)
	}
	decoded := object{}
	return decoded, json.Unmarshal(answer, &decoded)
}

func (s *scheduler) items(path string) ([]any, error) {
	listed, err := s.call("GET", path, nil)
	return list(listed, "items"), err
}

// claimsOf gives the pod's claims as they are now, or an error if one is not there yet.
func (s *scheduler) claimsOf(pod any) ([]object, error) {
	var names []string
	for _, item := range append(list(pod, "spec", "resourceClaims"), list(pod, "status", "resourceClaimStatuses")...) {
		if name := text(item, "resourceClaimName"); name != "" {
			names = append(names, name)
		}
	}
	if len(names) < len(list(pod, "spec", "resourceClaims")) {
		return nil, errors.New("a claim of a template does not exist yet")
	}
	var claims []object
	for _, name := range names {
		path := fmt.Sprintf("%s/namespaces/%s/resourceclaims/%s", dra, text(pod, "metadata", "namespace"), name)
		claim, err := s.call("GET", path, nil)
		if err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// results gives the devices that a claim has.
func results(claim any) []any { return list(claim, "status", "allocation", "devices", "results") }

func key(driver, pool, device string) string {
	return strings.Join([]string{driver, pool, device}, "/")
}

// freeDevices gives the devices of a node that no claim of the cluster has.
func (s *scheduler) freeDevices(node string) ([]object, error) {
	claims, err := s.items(dra + "/resourceclaims")
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, claim := range claims {
		for _, row := range results(claim) {
			used[key(text(row, "driver"), text(row, "pool"), text(row, "device"))] = true
		}
	}
	slices, err := s.items(dra + "/resourceslices")
	if err != nil {
		return nil, err
	}
	var free []object
	for _, slice := range slices {
		if text(slice, "spec", "nodeName") != node {
			continue
		}
		driver, pool := text(slice, "spec", "driver"), text(slice, "spec", "pool", "name")
		for _, device := range list(slice, "spec", "devices") {
			if name := text(device, "name"); !used[key(driver, pool, name)] {
				free = append(free, object{"driver": driver, "pool": pool, "device": name})
			}
		}
	}
	return free, nil
}

// allocation takes free devices for all requests of a claim; nil if there are too few.
func allocation(claim any, node string, free *[]object) object {
	var rows []any
	for _, request := range list(claim, "spec", "devices", "requests") {
		count := 1
		if asked, ok := get(request, "exactly", "count").(float64); ok {
			count = int(asked)
		}
		for ; count > 0; count-- {
			if len(*free) == 0 {
				return nil
			}
			row := (*free)[0]
			row["request"], *free = text(request, "name"), (*free)[1:]
			rows = append(rows, row)
		}
	}
	field := object{"key": "metadata.name", "operator": "In", "values": []string{node}}
	term := object{"matchFields": []any{field}}
	return object{
		"devices":      object{"results": rows},
		"nodeSelector": object{"nodeSelectorTerms": []any{term}},
	}
}

// nodeOf gives the node that the pod's allocated claims leave; empty if they leave any.
func nodeOf(claims []object) string {
	for _, claim := range claims {
		for _, term := range list(claim, "status", "allocation", "nodeSelector", "nodeSelectorTerms") {
			return list(list(term, "matchFields")[0], "values")[0].(string)
		}
	}
	return ""
}

// allocateAndReserve writes what is missing: the finalizer first, then the allocation with the
// reservation. It gives false if the node has too few devices.
func (s *scheduler) allocateAndReserve(claim object, pod any, node string, free *[]object) (bool, error) {
	path := fmt.Sprintf("%s/namespaces/%s/resourceclaims/%s", dra, text(claim, "metadata", "namespace"), text(claim, "metadata", "name"))
	if len(results(claim)) == 0 {
		planned := allocation(claim, node, free)
		if planned == nil {
			return false, nil
		}
		claim["metadata"].(object)["finalizers"] = []string{finalizer}
		written, err := s.call("PUT", path, claim)
		if err != nil {
			return false, err
		}
		written["status"] = object{"allocation": planned}
		claim = written
	}
	reserved := list(claim, "status", "reservedFor")
	for _, consumer := range reserved {
		if text(consumer, "uid") == text(pod, "metadata", "uid") {
			return true, nil
		}
	}
	consumer := object{"resource": "pods", "name": text(pod, "metadata", "name"), "uid": text(pod, "metadata", "uid")}
	claim["status"].(object)["reservedFor"] = append(reserved, consumer)
	_, err := s.call("PUT", path+"/status", claim)
	return err == nil, err
}

// schedule binds the pod to the first node that has devices for it.
func (s *scheduler) schedule(pod any, nodes []string) error {
	claims, err := s.claimsOf(pod)
	if err != nil {
		return err
	}
	if fixed := nodeOf(claims); fixed != "" {
		nodes = []string{fixed}
	}
	for _, node := range nodes {
		free, err := s.freeDevices(node)
		if err != nil {
			return err
		}
		fits := true
		for _, claim := range claims {
			if fits, err = s.allocateAndReserve(claim, pod, node, &free); err != nil {
				return err
			} else if !fits {
				break
			}
		}
		if fits {
			return s.bind(pod, node)
		}
	}
	return nil
}

func (s *scheduler) bind(pod any, node string) error {
	name := text(pod, "metadata", "name")
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/binding", text(pod, "metadata", "namespace"), name)
	_, err := s.call("POST", path, object{
		"apiVersion": "v1",
		"kind":       "Binding",
		"metadata":   object{"name": name},
		"target":     object{"kind": "Node", "name": node},
	})
	return err
}

// scheduleAll tries every pod that waits for this scheduler once.
func (s *scheduler) scheduleAll() error {
	listed, err := s.items("/api/v1/nodes")
	if err != nil {
		return err
	}
	var nodes []string
	for _, node := range listed {
		nodes = append(nodes, text(node, "metadata", "name"))
	}
	pods, err := s.items("/api/v1/pods?fieldSelector=spec.nodeName=")
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if text(pod, "spec", "schedulerName") != s.name || get(pod, "metadata", "deletionTimestamp") != nil {
			continue
		}
		// A claim is not there yet, a write met a conflict, an answer was lost: look again.
		if err := s.schedule(pod, nodes); err != nil {
			fmt.Println(err)
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: scheduler KUBECONFIG SCHEDULER_NAME")
		os.Exit(2)
	}
	s, err := load(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		if err := s.scheduleAll(); err != nil {
			fmt.Println(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
