package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

var movedPackages = setOf("policy", "lib")

// relocate moves `signalbox.policy.…` and `signalbox.lib.…` to `signalbox.unit.<name>.…`, in the package, in imports and
// in every reference. It works on the syntax tree: text in strings and comments stays as it is.
func relocate(module *ast.Module, name string) (*ast.Module, error) {
	move := func(reference ast.Ref) (ast.Value, error) { return moved(reference, name), nil }
	module.Package.Path = moved(module.Package.Path, name)
	for _, imported := range module.Imports {
		if reference, ok := imported.Path.Value.(ast.Ref); ok {
			imported.Path.Value = moved(reference, name)
		}
	}
	for _, rule := range module.Rules {
		if _, err := ast.TransformRefs(rule, move); err != nil {
			return nil, err
		}
	}
	return module, nil
}

func moved(reference ast.Ref, name string) ast.Ref {
	if len(reference) < 3 || !reference.HasPrefix(ast.Ref{ast.DefaultRootDocument, ast.StringTerm("signalbox")}) {
		return reference
	}
	if group, ok := reference[2].Value.(ast.String); !ok || !movedPackages[string(group)] {
		return reference
	}
	target := ast.Ref{ast.DefaultRootDocument, ast.StringTerm("signalbox"), ast.StringTerm("unit"), ast.StringTerm(name)}
	return append(target, reference[2:]...)
}
