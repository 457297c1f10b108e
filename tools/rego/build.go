package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
)

// unit is one content of one policy with the libraries it was written for. Two units may hold the same packages: each is
// moved under a name of its own, so that two contents of one policy can stand in one module.
type unit struct {
	Name    string   `json:"name"`
	Modules []source `json:"modules"`
}

type buildRequest struct {
	Units []unit `json:"units"`
	// Modules are taken as they are: the generated package that refers to the units.
	Modules []source `json:"modules"`
	// Entrypoints are rules, as paths: `signalbox/decide/u0`.
	Entrypoints []string `json:"entrypoints"`
}

type buildResponse struct {
	Errors []failure `json:"errors"`
	// WASM is the module (in base64); empty when there are errors.
	WASM []byte `json:"wasm"`
}

func runBuild(raw []byte) (any, error) {
	var request buildRequest
	if err := json.Unmarshal(raw, &request); err != nil {
		return nil, err
	}
	modules, failures := parse(request.Modules)
	for _, one := range request.Units {
		parsed, found := parse(one.Modules)
		failures = append(failures, found...)
		for path, module := range parsed {
			relocated, err := relocate(module, one.Name)
			if err != nil {
				return nil, err
			}
			modules[one.Name+"/"+path] = relocated
		}
	}
	if len(failures) > 0 {
		return buildResponse{Errors: failures}, nil
	}
	wasm, err := compileWASM(modules, request.Entrypoints)
	if err != nil {
		return buildResponse{Errors: failuresOf(err)}, nil
	}
	return buildResponse{Errors: []failure{}, WASM: wasm}, nil
}

func compileWASM(modules map[string]*ast.Module, entrypoints []string) ([]byte, error) {
	contents := &bundle.Bundle{Data: map[string]any{}}
	contents.Manifest.Init()
	for path, module := range modules {
		contents.Modules = append(contents.Modules, bundle.ModuleFile{URL: path, Path: path, Parsed: module})
	}
	// Without pruning, OPA adds everything that depends on an entrypoint as a further entrypoint.
	compiler := compile.New().
		WithBundle(contents).
		WithCapabilities(buildCapabilities()).
		WithEntrypoints(entrypoints...).
		WithPruneUnused(true).
		WithRegoVersion(ast.RegoV1).
		WithTarget(compile.TargetWasm)
	if err := compiler.Build(context.Background()); err != nil {
		return nil, err
	}
	compiled := compiler.Bundle().WasmModules
	if len(compiled) != 1 {
		return nil, errors.New("the compiler gave no WASM module")
	}
	return compiled[0].Raw, nil
}
