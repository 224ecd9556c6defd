package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// field is what Go's tags say of a field; its numbers lead through the messages of embedded structs.
type field struct {
	Numbers []int  `json:"numbers"`
	Go      string `json:"go"`
	Pointer bool   `json:"pointer"`
	Omits   string `json:"omits"`
}

type named interface{ OpenAPIModelName() string }

// fields prints all types of the API by their names in OpenAPI, with what their tags say of each field;
// tests/unit/apiserver/scheme/go_fields.json.gz is such a list.
func fields() {
	try(apiextensionsv1.AddToScheme(scheme.Scheme))
	found := map[string]map[string]field{}
	for _, kind := range scheme.Scheme.AllKnownTypes() {
		collect(kind, found)
	}
	try(json.NewEncoder(os.Stdout).Encode(found))
}

func collect(kind reflect.Type, found map[string]map[string]field) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(kind.Elem(), found)
	case reflect.Struct:
		model, isNamed := reflect.Zero(kind).Interface().(named)
		if !isNamed || found[model.OpenAPIModelName()] != nil {
			return
		}
		made := map[string]field{}
		found[model.OpenAPIModelName()] = made
		tags(kind, nil, made, found)
	}
}

// tags reads the fields of a struct, and those of structs that are embedded in it: there numbers lead.
func tags(kind reflect.Type, numbers []int, made map[string]field, found map[string]map[string]field) {
	for index := range kind.NumField() {
		part := kind.Field(index)
		name, marks, _ := strings.Cut(part.Tag.Get("json"), ",")
		path := append(append([]int{}, numbers...), number(part)...)
		if name == "" && strings.Contains(marks, "inline") {
			if len(path) > len(numbers) { // kind and apiVersion are in no message
				tags(part.Type, path, made, found)
			}
		} else if name != "" && name != "-" {
			made[name] = field{path, part.Type.String(), part.Type.Kind() == reflect.Pointer, marks}
			collect(part.Type, found)
		}
	}
}

func number(part reflect.StructField) []int {
	parts := strings.Split(part.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return nil
	}
	return []int{must(strconv.Atoi(parts[1]))}
}
