package main

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What a module can distinguish. Let p be a permutation of strings that fixes every string in `strings`, and every string
// in which a text of `searches` occurs. It is applied to all strings of input and data but not to names of members, with
// lists in any order afterwards (the host sorts them). A module that `inspects` nothing answers with p applied to its
// answer. By induction over evaluation:
//
//   - Strings come from input, data and the source. Those of the source are fixed; nothing that makes or takes apart text
//     is allowed, so there are no others, but for names of members and of types, which are then in `strings`, and for JSON
//     text that is only searched.
//   - Bodies hold by equality, and p is one to one: strings are equal before as after. So are tuples, sets and objects.
//   - A search for a text of the source (searches.go) finds it in a string as in the permuted one: p fixes strings that have
//     it, and permutes the others among themselves.
//   - Order of strings is never used: comparisons need a side that can only be a number, boolean or null (types are
//     ordered the same whatever the strings), and so do `sort`, `max` and `min`.
//   - Order of lists is not seen: a list (an array that is no literal) may be iterated, counted and searched, and nothing
//     else. No position of one is read (`index`), and none is compared, put into a set, or a key (`array`).
//   - Iteration goes in the order of keys, but what it finds is a set, or a list as above; where rules give one value,
//     two values are an error whichever comes first.
//
// Whatever is not known to be such is reported. Memory and time are not looked at: they depend on the length of strings.

// wordFacts is what a module distinguishes strings by.
type wordFacts struct {
	strings     []string
	inspects    []string
	searches    []string
	comparisons []comparisonFacts
	reads       readFacts
}

// uncompiled stands in `inspects` where nothing can be said of a module: it does not compile, or nobody says what input is.
const uncompiled = "uncompiled"

// wordsOf looks at the modules as compiled: calls are spread out, variables have names of their own, types are known.
func wordsOf(modules, resolved map[string]*ast.Module, schema any) map[string]wordFacts {
	compiler := newCompiler(checkCapabilities())
	if schema != nil {
		schemas := ast.NewSchemaSet()
		schemas.Put(ast.SchemaRootRef, schema)
		compiler = compiler.WithSchemas(schemas)
	}
	compiler.Compile(copies(modules))
	facts := make(map[string]wordFacts, len(modules))
	compared := map[string][]comparisonFacts{}
	if schema != nil && !compiler.Failed() {
		compared = comparisonsOf(compiler.Modules)
	}
	for path, module := range modules {
		if resolved[path] != nil {
			module = resolved[path]
		}
		strings, inspects, searches := constantsOf(module), map[string]bool{}, map[string]bool{}
		comparisons := append([]comparisonFacts{}, compared[path]...)
		reads := everything
		if schema == nil || compiler.Failed() || compiler.Modules[path] == nil {
			inspects[uncompiled] = true
		} else {
			blindness := newBlindness(compiler.TypeEnv, strings, inspects, searches)
			blindness.module(compiler.Modules[path])
			reads = readsOf(path, compiler.Modules)
		}
		facts[path] = wordFacts{list(strings), list(inspects), list(searches), comparisons, reads}
	}
	return facts
}

// constantsOf collects the strings that the source writes, those of references and heads included.
func constantsOf(module *ast.Module) map[string]bool {
	found := map[string]bool{}
	visit := func(term *ast.Term) bool {
		if reference, ok := term.Value.(ast.Ref); ok && allBuiltins[reference.String()] != nil {
			return true
		}
		if text, ok := term.Value.(ast.String); ok {
			found[string(text)] = true
		}
		return false
	}
	for _, rule := range module.Rules {
		ast.WalkTerms(rule, visit)
		for branch := rule; branch != nil; branch = branch.Else {
			ast.WalkTerms(branch.Head.Reference, visit)
		}
	}
	return found
}

func list(words map[string]bool) []string {
	return append([]string{}, slices.Sorted(maps.Keys(words))...)
}
