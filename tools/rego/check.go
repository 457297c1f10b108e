package main

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

type checkRequest struct {
	Modules []source `json:"modules"`
	// Units are groups of paths that are compiled together, each on its own: a finding in one hides none in another.
	Units [][]string `json:"units"`
	// InputSchema is the JSON Schema of `input`; null switches the check off.
	InputSchema any `json:"input_schema"`
}

type checkResponse struct {
	Errors []failure `json:"errors"`
	// Modules holds the facts of every source that could be read, sorted by path.
	Modules []moduleFacts `json:"modules"`
}

// runCheck parses and type-checks, and reports what the host needs to hold a policy to its contract.
func runCheck(raw []byte) (any, error) {
	var request checkRequest
	if err := json.Unmarshal(raw, &request); err != nil {
		return nil, err
	}
	modules, failures := parse(request.Modules)
	response := checkResponse{Modules: []moduleFacts{}}
	for _, unit := range request.Units {
		failures = append(failures, checkUnit(modules, unit, request.InputSchema)...)
	}
	resolved := resolve(modules)
	words := wordsOf(modules, resolved, request.InputSchema)
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		response.Modules = append(response.Modules, factsOf(path, modules[path], resolved[path], words[path]))
	}
	response.Errors = distinct(failures)
	return response, nil
}

// checkUnit compiles one unit. A unit with a module that could not be read is omitted: what is missing there would be
// reported as undefined here.
func checkUnit(modules map[string]*ast.Module, paths []string, schema any) []failure {
	unit := make(map[string]*ast.Module, len(paths))
	for _, path := range paths {
		module, ok := modules[path]
		if !ok {
			return nil
		}
		unit[path] = module
	}
	compiler := newCompiler(checkCapabilities()).WithStrict(true)
	if schema != nil {
		schemas := ast.NewSchemaSet()
		schemas.Put(ast.SchemaRootRef, schema)
		compiler = compiler.WithSchemas(schemas)
	}
	if compiler.Compile(copies(unit)); compiler.Failed() {
		return failuresOf(compiler.Errors)
	}
	return nil
}

// resolve gives the modules with every reference written out from its root (`data`, `input`), imports followed.
func resolve(modules map[string]*ast.Module) map[string]*ast.Module {
	compiler := newCompiler(checkCapabilities()).WithOnlyStagesUpTo(ast.StageResolveRefs)
	compiler.Compile(copies(modules))
	return compiler.Modules
}

// distinct drops what several units have found in a module that they share.
func distinct(failures []failure) []failure {
	type key struct {
		code, message, file string
		row, col            int
	}
	seen := map[key]bool{}
	kept := []failure{}
	for _, one := range failures {
		identity := key{one.Code, one.Message, one.File, one.Row, one.Col}
		if !seen[identity] {
			seen[identity] = true
			kept = append(kept, one)
		}
	}
	return kept
}
