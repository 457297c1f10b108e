package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// reference follows a reference name by name.
func (b *blindness) reference(reference ast.Ref, bound scope) types.Type {
	shape, rest := b.root(reference, bound)
	for _, step := range rest {
		shape = b.step(shape, step, bound)
	}
	return shape
}

// root gives the type of as much of a reference as is known by name, and the rest.
func (b *blindness) root(reference ast.Ref, bound scope) (types.Type, ast.Ref) {
	head, isVariable := reference[0].Value.(ast.Var)
	if !isVariable {
		return b.term(reference[0], bound), reference[1:]
	}
	if head != "input" && head != "data" {
		return known(b.shapes[head]), reference[1:]
	}
	if len(reference) > 1 && head == "data" {
		switch reference[1].Value {
		case ast.String("approved"):
			return approvedType, reference[2:]
		case ast.String("regions"):
			return regionsType, reference[2:]
		}
	}
	named := 1
	for named < len(reference) {
		if _, ok := reference[named].Value.(ast.String); !ok {
			break
		}
		named++
	}
	return known(b.environment.GetByRef(reference[:named])), reference[named:]
}

func (b *blindness) step(shape types.Type, step *ast.Term, bound scope) types.Type {
	switch key := step.Value.(type) {
	case ast.String, ast.Boolean, ast.Null:
		return member(shape, key)
	case ast.Number:
		if mayBe(shape, isList) {
			b.report(seesPosition)
			return values(shape)
		}
		return member(shape, key)
	}
	b.key(step, shape, bound)
	return values(shape)
}

// key looks at what stands in the brackets: a variable that runs over keys, or a value that is looked up.
func (b *blindness) key(step *ast.Term, shape types.Type, bound scope) {
	name, isVariable := step.Value.(ast.Var)
	if isVariable && !bound[name] {
		bound[name], b.iterates = true, true
		b.shapes[name] = types.Or(b.shapes[name], keys(shape))
		if b.seesKey(name) {
			if mayBe(shape, isList) {
				b.report(seesPosition)
			}
			b.addNames(shape)
		}
		return
	}
	if !isVariable {
		if hasVariables(step) {
			b.iterates = true
		}
		b.match(step, keys(shape), bound)
	} else if b.seesKey(name) {
		b.compare(b.shapes[name], keys(shape))
		if mayBe(shape, isList) && mayBe(b.shapes[name], isNumber) {
			b.report(seesPosition)
		}
	}
	b.addNames(shape)
}

// addNames: the names of members, at any depth, have become strings of the policy.
func (b *blindness) addNames(shape types.Type) {
	if memberNames(shape, b.strings) {
		memberNames(b.environment.GetByRef(ast.InputRootRef), b.strings)
		memberNames(approvedType, b.strings)
	}
}

func hasVariables(term *ast.Term) bool {
	found := false
	ast.WalkVars(term, func(ast.Var) bool { found = true; return found })
	return found
}

// unify looks at an equality of which either side may have variables without a value yet.
func (b *blindness) unify(left, right *ast.Term, bound scope) {
	leftName, leftIs := unbound(left, bound)
	rightName, rightIs := unbound(right, bound)
	switch {
	case leftIs && rightIs:
		b.bind(leftName, types.A, bound)
		b.bind(rightName, types.A, bound)
	case leftIs:
		b.bind(leftName, b.term(right, bound), bound)
	case rightIs:
		b.bind(rightName, b.term(left, bound), bound)
	case isPattern(left) && isPattern(right):
		b.unifyPatterns(left, right, bound)
	case isPattern(left):
		b.match(left, b.term(right, bound), bound)
	default:
		b.match(right, b.term(left, bound), bound)
	}
}

func (b *blindness) unifyPatterns(left, right *ast.Term, bound scope) {
	one, oneIs := left.Value.(*ast.Array)
	other, otherIs := right.Value.(*ast.Array)
	if oneIs && otherIs && one.Len() == other.Len() {
		for i := range one.Len() {
			b.unify(one.Elem(i), other.Elem(i), bound)
		}
		return
	}
	// Both sides of two objects may bind; whatever they bind is anything then.
	b.match(left, types.A, bound)
	b.match(right, types.A, bound)
}

// match looks at a pattern against a value of a type; its variables without a value take theirs from it.
func (b *blindness) match(pattern *ast.Term, shape types.Type, bound scope) {
	if name, ok := unbound(pattern, bound); ok {
		b.bind(name, shape, bound)
		return
	}
	if !isPattern(pattern) || !hasVariables(pattern) {
		b.compare(b.term(pattern, bound), shape)
		return
	}
	switch value := pattern.Value.(type) {
	case *ast.Array:
		if mayBe(shape, isList) {
			b.report(seesPosition)
		}
		for i := range value.Len() {
			b.match(value.Elem(i), member(shape, ast.InternedTerm(i).Value), bound)
		}
	case ast.Object:
		b.addNames(shape)
		value.Foreach(func(key, content *ast.Term) {
			b.match(content, member(shape, key.Value), bound)
		})
	}
}

func (b *blindness) bind(name ast.Var, shape types.Type, bound scope) {
	bound[name] = true
	b.shapes[name] = types.Or(b.shapes[name], known(shape))
}

func unbound(term *ast.Term, bound scope) (ast.Var, bool) {
	name, ok := term.Value.(ast.Var)
	return name, ok && !bound[name]
}

func isPattern(term *ast.Term) bool {
	switch term.Value.(type) {
	case *ast.Array, ast.Object:
		return true
	}
	return false
}
