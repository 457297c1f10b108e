package main

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// comparisonFacts is a part of the input that the module compares with a word of its own. Path: as in referenceFacts.
type comparisonFacts struct {
	position
	Path  []*string `json:"path"`
	Value string    `json:"value"`
}

// comparer finds comparisons in the compiled form, where every variable has a name of its own.
type comparer struct {
	// paths holds variables that are a part of the input; nil for one that could be several.
	paths map[ast.Var][]*string
	found []comparisonFacts
}

func comparisonsOf(module *ast.Module) []comparisonFacts {
	all := []comparisonFacts{}
	for _, rule := range module.Rules {
		one := comparer{paths: map[ast.Var][]*string{}}
		// A variable may be named before what it is a part of; a chain of them is rarely long.
		for range 4 {
			ast.WalkExprs(rule, one.learn)
		}
		ast.WalkExprs(rule, one.compare)
		all = append(all, one.found...)
	}
	slices.SortFunc(all, func(left, right comparisonFacts) int {
		if left.Row != right.Row {
			return left.Row - right.Row
		}
		if left.Col != right.Col {
			return left.Col - right.Col
		}
		return strings.Compare(left.Value, right.Value)
	})
	return slices.CompactFunc(all, func(left, right comparisonFacts) bool {
		return left.position == right.position && left.Value == right.Value && samePath(left.Path, right.Path)
	})
}

func (c *comparer) learn(expression *ast.Expr) bool {
	if every, ok := expression.Terms.(*ast.Every); ok {
		if path := c.path(every.Domain); path != nil {
			c.name(every.Value, below(path))
		}
	}
	if left, right, ok := operandsOf(expression, "eq", "equal", "assign"); ok {
		c.name(left, c.path(right))
		c.name(right, c.path(left))
	}
	return false
}

func (c *comparer) name(term *ast.Term, path []*string) {
	name, ok := term.Value.(ast.Var)
	if !ok || path == nil {
		return
	}
	if known, seen := c.paths[name]; seen && !samePath(known, path) {
		path = nil
	}
	c.paths[name] = path
}

func (c *comparer) compare(expression *ast.Expr) bool {
	if left, right, ok := operandsOf(expression, "eq", "equal", "neq"); ok {
		c.add(c.path(left), right, expression)
		c.add(c.path(right), left, expression)
	}
	if left, right, ok := operandsOf(expression, "internal.member_2"); ok {
		if path := c.path(right); path != nil {
			c.add(below(path), left, expression)
		}
		path := c.path(left)
		switch listed := right.Value.(type) {
		case ast.Set:
			listed.Foreach(func(one *ast.Term) { c.add(path, one, expression) })
		case *ast.Array:
			listed.Foreach(func(one *ast.Term) { c.add(path, one, expression) })
		}
	}
	return false
}

func (c *comparer) add(path []*string, term *ast.Term, expression *ast.Expr) {
	text, ok := term.Value.(ast.String)
	if !ok || path == nil {
		return
	}
	place := at(term.Location)
	if place.Row == 0 {
		place = at(expression.Location)
	}
	c.found = append(c.found, comparisonFacts{place, path, string(text)})
}

// path gives the words after `input` of what a term is a part of; nil where it is none, or it is not known which.
func (c *comparer) path(term *ast.Term) []*string {
	switch value := term.Value.(type) {
	case ast.Var:
		return c.paths[value]
	case ast.Ref:
		head, ok := value[0].Value.(ast.Var)
		if !ok {
			return nil
		}
		if head == "input" {
			return words(value[1:])
		}
		if base := c.paths[head]; base != nil {
			return slices.Concat(base, words(value[1:]))
		}
	}
	return nil
}

func below(path []*string) []*string { return slices.Concat(path, []*string{nil}) }

func operandsOf(expression *ast.Expr, names ...string) (left, right *ast.Term, ok bool) {
	terms, ok := expression.Terms.([]*ast.Term)
	if !ok || len(terms) < 3 || !slices.Contains(names, terms[0].Value.String()) {
		return nil, nil, false
	}
	return terms[1], terms[2], true
}

func samePath(left, right []*string) bool {
	return slices.EqualFunc(left, right, func(one, other *string) bool {
		if one == nil || other == nil {
			return one == other
		}
		return *one == *other
	})
}
