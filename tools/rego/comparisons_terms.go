package main

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// variables holds what those of a rule can be. The compiler has given each a name of its own.
type variables map[ast.Var]*value

// rule gives what the rules of a name answer.
func (c *comparer) rule(name string) *value {
	if known := c.values[name]; known != nil {
		return known
	}
	// Rules of one name cannot refer to themselves, but an error elsewhere must not make this endless.
	c.values[name] = anything
	var answer *value
	for _, rule := range c.rules[name] {
		for branch := rule; branch != nil; branch = branch.Else {
			answer = join(answer, c.branch(branch, variables{}))
		}
	}
	c.values[name] = orNothing(answer)
	return c.values[name]
}

// function gives what a call answers; without arguments they are not known.
func (c *comparer) function(name string, arguments []*value) *value {
	c.called[name] = true
	var answer *value
	for _, rule := range c.rules[name] {
		for branch := rule; branch != nil; branch = branch.Else {
			bound := variables{}
			for i, parameter := range branch.Head.Args {
				given := anything
				if i < len(arguments) {
					given = arguments[i]
				}
				c.match(parameter, given, bound)
			}
			answer = join(answer, c.branch(branch, bound))
		}
	}
	return orNothing(answer)
}

func (c *comparer) branch(rule *ast.Rule, bound variables) *value {
	if c.evaluations++; c.evaluations > mostEvaluations {
		return anything
	}
	c.body(rule.Body, bound)
	head := rule.Head
	var answer *value
	if head.Key != nil && head.RuleKind() == ast.MultiValue {
		element := c.term(head.Key, bound)
		answer = &value{rest: element, keys: element}
		if passes(rule.Ref()) {
			c.compare(element, partValue("input", path("candidates", "", "id"), false))
		}
	} else if head.Value != nil {
		answer = c.term(head.Value, bound)
	}
	reference := rule.Ref()
	for i := len(reference) - 1; i >= len(reference.GroundPrefix()); i-- {
		answer = &value{keys: c.term(reference[i], bound), rest: orNothing(answer)}
	}
	return orNothing(answer)
}

// passes: `pass.<constraint> contains` lists ids of candidates.
func passes(reference ast.Ref) bool {
	return strings.HasPrefix(reference.String(), "data.signalbox.policy.") && len(reference) >= 6 &&
		reference[4].Value.Compare(ast.String("pass")) == 0
}

// path makes the steps of a part; an empty one is any.
func path(steps ...string) []*string {
	made := make([]*string, len(steps))
	for i := range steps {
		if steps[i] != "" {
			made[i] = &steps[i]
		}
	}
	return made
}

func (c *comparer) body(body ast.Body, bound variables) {
	for _, expression := range body {
		switch terms := expression.Terms.(type) {
		case *ast.Term:
			c.term(terms, bound)
		case []*ast.Term:
			c.call(terms[0], terms[1:], bound)
		case *ast.Every:
			domain := c.term(terms.Domain, bound)
			if terms.Key != nil {
				c.match(terms.Key, domain.names(), bound)
			}
			c.match(terms.Value, domain.elements(), bound)
			c.body(terms.Body, bound)
		}
	}
}

// term gives what a term can be and looks at everything in it.
func (c *comparer) term(term *ast.Term, bound variables) *value {
	switch content := term.Value.(type) {
	case ast.String:
		return c.wordAt(term, content)
	case ast.Null, ast.Boolean, ast.Number:
		return nothing
	case ast.Var:
		if known := bound[content]; known != nil {
			return known
		}
		return nothing
	case ast.Ref:
		return c.reference(content, bound)
	case ast.Call:
		return c.call(content[0], content[1:], bound)
	case *ast.Array:
		made := &value{rest: nothing}
		content.Foreach(func(one *ast.Term) { made.rest = join(made.rest, c.term(one, bound)) })
		return made
	case ast.Set:
		made := &value{rest: nothing}
		content.Foreach(func(one *ast.Term) { made.rest = join(made.rest, c.term(one, bound)) })
		made.keys = made.rest
		return made
	case ast.Object:
		return c.object(content, bound)
	case *ast.ArrayComprehension:
		c.body(content.Body, bound)
		return &value{rest: c.term(content.Term, bound)}
	case *ast.SetComprehension:
		c.body(content.Body, bound)
		element := c.term(content.Term, bound)
		return &value{rest: element, keys: element}
	case *ast.ObjectComprehension:
		c.body(content.Body, bound)
		return &value{keys: c.term(content.Key, bound), rest: c.term(content.Value, bound)}
	}
	return anything
}

func (c *comparer) object(object ast.Object, bound variables) *value {
	made := &value{fields: map[string]*value{}, keys: nothing}
	object.Foreach(func(key, content *ast.Term) {
		made.keys = join(made.keys, c.term(key, bound))
		if name, ok := key.Value.(ast.String); ok {
			made.fields[string(name)] = c.term(content, bound)
		} else {
			made.rest = join(made.rest, c.term(content, bound))
		}
	})
	return made
}

// reference follows a reference step by step, from the input, data, a rule or a variable.
func (c *comparer) reference(reference ast.Ref, bound variables) *value {
	whole, rest := c.root(reference, bound)
	for _, step := range rest {
		whole = c.step(whole, step, bound)
	}
	return whole
}

func (c *comparer) root(reference ast.Ref, bound variables) (*value, ast.Ref) {
	head, isVariable := reference[0].Value.(ast.Var)
	if !isVariable {
		return c.term(reference[0], bound), reference[1:]
	}
	if head == "input" {
		return partValue("input", nil, false), reference[1:]
	}
	if head != "data" {
		return orNothing(bound[head]), reference[1:]
	}
	ground := reference.GroundPrefix()
	for length := len(ground); length > 1; length-- {
		name := ground[:length].String()
		if rules := c.rules[name]; len(rules) > 0 && !isFunction(rules) {
			return c.rule(name), reference[length:]
		}
	}
	if len(reference) > 1 && reference[1].Value.Compare(ast.String("signalbox")) == 0 {
		return anything, nil
	}
	return partValue("data", nil, false), reference[1:]
}

func (c *comparer) step(whole *value, step *ast.Term, bound variables) *value {
	if name, ok := step.Value.(ast.String); ok {
		// A name that is written is looked up: it must be one that there is.
		c.against(c.wordAt(step, name), whole.names())
		return whole.member(string(name))
	}
	if _, ok := step.Value.(ast.Number); ok {
		return whole.elements()
	}
	c.match(step, whole.names(), bound)
	return whole.elements()
}

// match gives a variable that has no value yet what it is matched with, and compares everything else.
func (c *comparer) match(pattern *ast.Term, given *value, bound variables) {
	switch content := pattern.Value.(type) {
	case ast.Var:
		if bound[content] == nil {
			bound[content] = given
			return
		}
	case *ast.Array:
		content.Foreach(func(one *ast.Term) { c.match(one, given.elements(), bound) })
		return
	case ast.Object:
		content.Foreach(func(key, inner *ast.Term) {
			if name, ok := key.Value.(ast.String); ok {
				c.match(inner, given.member(string(name)), bound)
			} else {
				c.match(inner, given.elements(), bound)
			}
		})
		return
	}
	c.compare(c.term(pattern, bound), given)
}
