package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// call gives what a call answers; an operand more than the function has parameters takes it.
func (c *comparer) call(operator *ast.Term, operands []*ast.Term, bound variables) *value {
	name := operator.Value.String()
	if name == "eq" || name == "equal" || name == "assign" {
		c.unify(operands[0], operands[1], bound)
		return nothing
	}
	rules := c.rules[name]
	parameters := len(operands)
	if len(rules) > 0 {
		parameters = min(parameters, len(rules[0].Head.Args))
	} else if builtin := allBuiltins[name]; builtin != nil {
		parameters = min(parameters, builtin.Decl.Arity())
	}
	arguments := make([]*value, parameters)
	for i := range arguments {
		arguments[i] = c.term(operands[i], bound)
	}
	var answer *value
	if len(rules) > 0 {
		answer = c.function(name, arguments)
	} else {
		answer = c.builtin(name, arguments)
	}
	for _, output := range operands[parameters:] {
		c.match(output, answer, bound)
	}
	return answer
}

// unify looks at an equality; the side that has no value yet takes the other's.
func (c *comparer) unify(left, right *ast.Term, bound variables) {
	if name, ok := left.Value.(ast.Var); ok && bound[name] == nil {
		bound[name] = c.term(right, bound)
		return
	}
	if isPattern(left) && hasVariables(left) {
		c.match(left, c.term(right, bound), bound)
		return
	}
	c.match(right, c.term(left, bound), bound)
}

// builtin gives what a built-in answers. One that is not named here answers what is not known.
func (c *comparer) builtin(name string, arguments []*value) *value {
	if blindBuiltins[name] {
		return nothing
	}
	switch name {
	case "neq", "lt", "lte", "gt", "gte":
		c.compare(arguments[0], arguments[1])
		return nothing
	case "internal.member_2":
		c.compare(arguments[0], arguments[1].elements())
		return nothing
	case "internal.member_3":
		c.compare(arguments[0], arguments[2].names())
		c.compare(arguments[1], arguments[2].elements())
		return nothing
	case "count":
		return nothing
	case "and":
		c.compare(arguments[0], arguments[1])
		return join(arguments[0], arguments[1])
	case "minus":
		c.compare(arguments[0], arguments[1])
		return arguments[0]
	case "or", "array.concat", "object.union":
		return join(arguments[0], arguments[1])
	case "intersection":
		sets := arguments[0].elements()
		// All of the sets are compared with each other: the strings of one with what the others have of the input.
		element := sets.elements()
		c.against(&value{words: element.words}, &value{parts: element.parts, open: element.open})
		return sets
	case "union", "object.union_n":
		return arguments[0].elements()
	case "sort", "array.reverse", "array.slice":
		return &value{rest: arguments[0].elements()}
	case "max", "min":
		return arguments[0].elements()
	case "object.keys":
		names := arguments[0].names()
		return &value{rest: names, keys: names}
	case "object.filter", "object.remove":
		c.compare(arguments[0].names(), join(arguments[1].elements(), arguments[1].names()))
		return arguments[0]
	case "object.get":
		return c.objectGet(arguments)
	}
	return anything
}

// objectGet: a key that is an array is a path, of which no string can be distinguished from the others.
func (c *comparer) objectGet(arguments []*value) *value {
	whole, key, otherwise := arguments[0], arguments[1], arguments[2]
	if key.rest != nil {
		return anything
	}
	c.compare(key, whole.names())
	found := whole.elements()
	if len(key.words) == 1 && len(key.parts) == 0 && !key.open {
		found = whole.member(key.words[0].text)
	}
	return join(found, otherwise)
}
