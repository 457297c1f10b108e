package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// Built-ins that see of strings no more than whether they are equal, whatever they are called with. Arithmetic knows no
// strings; sums and products are exact, so that order does not matter. The list is closed, like the one in builtins.go.
var blindBuiltins = setOf(
	"abs", "ceil", "div", "floor", "mul", "plus", "rem", "round", "sum", "product",
	"bits.and", "bits.lsh", "bits.negate", "bits.or", "bits.rsh", "bits.xor",
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string",
	"print", "internal.print",
)

// call looks at a call; an operand more than the function has parameters takes the result.
func (b *blindness) call(operator *ast.Term, operands []*ast.Term, bound scope) types.Type {
	name := operator.Value.String()
	builtin, isBuiltin := allBuiltins[name]
	var result types.Type = types.A
	parameters := len(operands)
	if isBuiltin {
		parameters = min(parameters, builtin.Decl.Arity())
	} else if reference, ok := operator.Value.(ast.Ref); ok {
		if function, ok := b.environment.GetByRef(reference).(*types.Function); ok {
			parameters, result = min(parameters, function.Arity()), known(function.Result())
		}
	}
	arguments, outputs := operands[:parameters], operands[parameters:]
	if name == "walk" && b.walk(arguments[0], outputs, bound) {
		return types.B
	}
	if name == "eq" || name == "equal" || name == "assign" {
		b.unify(arguments[0], arguments[1], bound)
		result = types.B
	} else {
		shapes := make([]types.Type, len(arguments))
		for i, argument := range arguments {
			shapes[i] = b.term(argument, bound)
		}
		if isBuiltin && !b.search(name, arguments, outputs) {
			result = b.builtin(builtin, arguments, shapes)
		} else if isBuiltin {
			result = known(builtin.Decl.Result())
		}
	}
	for _, output := range outputs {
		b.match(output, result, bound)
	}
	return result
}

// search notes the text of a search, and accepts JSON text that is only searched.
func (b *blindness) search(name string, arguments, outputs []*ast.Term) bool {
	if text, ok := searchedText(name, arguments); ok {
		b.searches[text] = true
		return true
	}
	if name != "json.marshal" || len(outputs) != 1 {
		return false
	}
	text, ok := outputs[0].Value.(ast.Var)
	return ok && b.searched[text]
}

// walk looks at `walk(whole, [path, value])`: everything below a value, and where it is. A path may be counted, and its
// steps compared with texts of the source: names of members stay, and a position in a list equals no text.
func (b *blindness) walk(whole *ast.Term, outputs []*ast.Term, bound scope) bool {
	if len(outputs) != 1 {
		return false
	}
	pair, ok := outputs[0].Value.(*ast.Array)
	if !ok || pair.Len() != 2 {
		return false
	}
	path, ok := unbound(pair.Elem(0), bound)
	if !ok || b.uses[path] > 1+b.steps[path] {
		return false
	}
	b.term(whole, bound)
	b.iterates = true
	// Not an array: its order is that of the input's structure.
	b.bind(path, types.NewObject(nil, types.NewDynamicProperty(types.N, types.S)), bound)
	b.match(pair.Elem(1), types.A, bound)
	return true
}

// stepUses counts for each variable the uses that a path may have: `count(path)`, and equality with texts of the source of
// a step (`path[0] == "tools"`, `"tools" in path`) or of the whole.
func stepUses(body ast.Body) map[ast.Var]int {
	found := map[ast.Var]int{}
	isText := func(term *ast.Term) bool { _, ok := term.Value.(ast.String); return ok }
	count := func(term *ast.Term, isHarmless bool) {
		if name, ok := term.Value.(ast.Var); ok && isHarmless {
			found[name]++
		}
		if step, ok := term.Value.(ast.Ref); ok && isHarmless && len(step) == 2 {
			if name, ok := step[0].Value.(ast.Var); ok {
				found[name]++
			}
		}
	}
	ast.WalkExprs(body, func(expression *ast.Expr) bool {
		terms, ok := expression.Terms.([]*ast.Term)
		if !ok || len(terms) < 3 {
			return false
		}
		left, right := terms[1], terms[2]
		switch terms[0].Value.String() {
		case "count":
			count(left, !isRef(left))
		case "internal.member_2":
			count(right, isText(left) && !isRef(right))
		case "eq", "equal", "neq":
			count(left, isRef(left) && isText(right) || isTextArray(right))
			count(right, isRef(right) && isText(left) || isTextArray(left))
		}
		return false
	})
	return found
}

func isRef(term *ast.Term) bool { _, ok := term.Value.(ast.Ref); return ok }

func isTextArray(term *ast.Term) bool {
	array, ok := term.Value.(*ast.Array)
	if !ok {
		return false
	}
	texts := true
	array.Foreach(func(one *ast.Term) { _, ok := one.Value.(ast.String); texts = texts && ok })
	return texts
}

// builtin looks at the call of a built-in and gives the type of what it gives, more exactly than its declaration.
func (b *blindness) builtin(builtin *ast.Builtin, arguments []*ast.Term, shapes []types.Type) types.Type {
	declared := known(builtin.Decl.Result())
	switch builtin.Name {
	case "neq":
		b.compare(shapes[0], shapes[1])
	case "internal.member_2":
		b.compare(shapes[0], values(shapes[1]))
	case "lt", "lte", "gt", "gte":
		if mayBe(shapes[0], isOrderedByWords) && mayBe(shapes[1], isOrderedByWords) {
			b.report(builtin.Name)
		}
	case "count":
		// It counts the characters of text.
		if mayBe(shapes[0], isText) {
			b.report(builtin.Name)
		}
	case "max", "min", "sort":
		// Numbers have an order of their own, and the greatest of some is the same whatever order they come in.
		element := values(shapes[0])
		if mayBe(element, isOrderedByWords) {
			b.report(builtin.Name)
		} else if builtin.Name == "sort" {
			return types.NewArray(nil, element)
		}
		return element
	case "type_name":
		for _, name := range []string{"array", "boolean", "null", "number", "object", "set", "string"} {
			b.strings[name] = true
		}
	case "array.concat":
		return types.NewArray(nil, types.Or(values(shapes[0]), values(shapes[1])))
	case "array.reverse":
		return types.NewArray(nil, values(shapes[0]))
	case "and", "or", "minus":
		return types.Or(shapes[0], shapes[1])
	case "intersection", "union":
		return values(shapes[0])
	case "object.get":
		return b.objectGet(arguments[1], shapes)
	case "object.keys":
		b.addNames(shapes[0])
		return types.NewSet(keys(shapes[0]))
	case "object.union":
		b.addNames(shapes[0])
		b.addNames(shapes[1])
	case "object.filter", "object.remove":
		b.addNames(shapes[0])
		b.addNames(shapes[1])
		b.compare(keys(shapes[0]), types.Or(keys(shapes[1]), values(shapes[1])))
	case "graph.reachable":
		nodes := types.Or(values(shapes[1]), values(values(shapes[0])))
		if !arrayless(nodes) {
			b.report(builtin.Name)
		}
		return types.NewSet(nodes)
	default:
		if !blindBuiltins[builtin.Name] {
			b.report(builtin.Name)
		}
	}
	return declared
}

// objectGet: a key that is an array is a path, in which numbers are positions.
func (b *blindness) objectGet(key *ast.Term, shapes []types.Type) types.Type {
	const name = "object.get"
	if text, ok := key.Value.(ast.String); ok {
		return types.Or(member(shapes[0], text), shapes[2])
	}
	b.addNames(shapes[0])
	if path, ok := key.Value.(*ast.Array); ok {
		found := shapes[0]
		for i := range path.Len() {
			if _, ok := path.Elem(i).Value.(ast.String); !ok {
				b.report(name)
			}
			found = member(found, path.Elem(i).Value)
		}
		return types.Or(found, shapes[2])
	}
	if !arrayless(shapes[1]) {
		b.report(name)
	}
	return types.Or(values(shapes[0]), shapes[2])
}
