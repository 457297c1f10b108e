package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// comparisonFacts is a string of the source with everything of input and data that it is compared with, wherever: in the
// rule, in a function that it is passed to, by membership, as a key. A string that is compared with anything that is not
// known (what a built-in makes) is not listed, nor is one that equals another string of the sources.
type comparisonFacts struct {
	position
	Value   string     `json:"value"`
	Against []partOfIt `json:"against"`
}

// partOfIt is a part of input or data. Path: as in referenceFacts. Key: the names of its members, not their values.
type partOfIt struct {
	Root string    `json:"root"`
	Path []*string `json:"path"`
	Key  bool      `json:"key"`
}

// Evaluations of rules and functions in one check. Calls are followed each with its own arguments, so functions that
// call each other twice take twice as many; beyond this number nothing is reported.
const mostEvaluations = 100_000

// comparer goes through compiled modules and follows what each term can be: which strings of the source, which parts of
// the input. Rego has no recursion, so every value is finite.
type comparer struct {
	// rules by the part of their name that is known; values of those that are no functions.
	rules       map[string][]*ast.Rule
	values      map[string]*value
	called      map[string]bool
	evaluations int
	words       map[word]*value
	found       map[*word]*comparisonFacts
	// settled strings are compared with something that they can equal, or that is not known.
	settled map[*word]bool
}

// comparisonsOf gives the comparisons by the path of the module that writes the string. Tests may compare with anything.
func comparisonsOf(modules map[string]*ast.Module) map[string][]comparisonFacts {
	c := comparer{
		rules: rulesByName(modules), values: map[string]*value{}, called: map[string]bool{},
		words: map[word]*value{}, found: map[*word]*comparisonFacts{}, settled: map[*word]bool{},
	}
	names := slices.Sorted(maps.Keys(c.rules))
	for _, name := range names {
		if !isFunction(c.rules[name]) {
			c.rule(name)
		}
	}
	// A function that nothing calls is looked at with arguments that are not known.
	for _, name := range names {
		if isFunction(c.rules[name]) && !c.called[name] {
			c.function(name, nil)
		}
	}
	return c.byModule()
}

func (c *comparer) byModule() map[string][]comparisonFacts {
	all := map[string][]comparisonFacts{}
	if c.evaluations > mostEvaluations {
		return all
	}
	for one, facts := range c.found {
		if !c.settled[one] {
			all[one.file] = append(all[one.file], *facts)
		}
	}
	for _, found := range all {
		slices.SortFunc(found, func(left, right comparisonFacts) int {
			return cmp.Or(left.Row-right.Row, left.Col-right.Col, strings.Compare(left.Value, right.Value))
		})
	}
	return all
}

// compare notes that two values are required to be equal.
func (c *comparer) compare(left, right *value) {
	c.against(left, right)
	c.against(right, left)
	if !left.structured() && !right.structured() {
		return
	}
	for name, field := range left.fields {
		c.compare(field, right.member(name))
	}
	for name, field := range right.fields {
		if left.fields[name] == nil {
			c.compare(left.member(name), field)
		}
	}
	if left.rest != nil || right.rest != nil {
		c.compare(left.elements(), right.elements())
	}
	if left.keys != nil || right.keys != nil {
		c.compare(left.names(), right.names())
	}
}

// against notes the strings of one value and the parts of the input in the other.
func (c *comparer) against(left, right *value) {
	for _, one := range left.words {
		if right.open || right.has(one.text) {
			c.settled[one] = true
			continue
		}
		for _, part := range right.parts {
			facts := c.found[one]
			if facts == nil {
				facts = &comparisonFacts{position: one.position, Value: one.text, Against: []partOfIt{}}
				c.found[one] = facts
			}
			if !slices.ContainsFunc(facts.Against, part.equals) {
				facts.Against = append(facts.Against, part)
			}
		}
	}
}

func isFunction(rules []*ast.Rule) bool { return len(rules[0].Head.Args) > 0 }
