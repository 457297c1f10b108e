package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// parse reads every source that can be read; the others leave their findings. METADATA blocks are read as well.
func parse(sources []source) (map[string]*ast.Module, []failure) {
	modules := make(map[string]*ast.Module, len(sources))
	var failures []failure
	for _, one := range sources {
		module, err := ast.ParseModuleWithOpts(one.Path, one.Text, ast.ParserOptions{
			Capabilities:      checkCapabilities(),
			ProcessAnnotation: true,
			RegoVersion:       ast.RegoV1,
		})
		switch {
		case err != nil:
			failures = append(failures, inFile(one.Path, failuresOf(err))...)
		case module == nil:
			failures = append(failures, failure{Code: ast.ParseErr, Message: "empty module", File: one.Path, Row: 1, Col: 1})
		default:
			modules[one.Path] = module
		}
	}
	return modules, failures
}

// inFile names the file where OPA did not.
func inFile(path string, failures []failure) []failure {
	for i := range failures {
		if failures[i].File == "" {
			failures[i].File = path
		}
	}
	return failures
}

// newCompiler makes a compiler that reports everything it finds and not only the first ten findings.
func newCompiler(capabilities *ast.Capabilities) *ast.Compiler {
	return ast.NewCompiler().WithCapabilities(capabilities).WithDefaultRegoVersion(ast.RegoV1).SetErrorLimit(0)
}

// copies protects the modules from the compiler, which rewrites what it is given.
func copies(modules map[string]*ast.Module) map[string]*ast.Module {
	copied := make(map[string]*ast.Module, len(modules))
	for path, module := range modules {
		copied[path] = module.Copy()
	}
	return copied
}
