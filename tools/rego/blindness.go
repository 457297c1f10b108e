package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// blindness goes through one compiled module and reports where it sees more of strings than whether they are equal.
type blindness struct {
	environment *ast.TypeEnv
	strings     map[string]bool
	inspects    map[string]bool
	searches    map[string]bool
	// The rule that is looked at: types of its variables, how often each stands in it, how often of these as the position
	// of a candidate or as a path may, whether it holds a JSON text that is only searched, and whether the rule iterates.
	shapes    map[ast.Var]types.Type
	uses      map[ast.Var]int
	positions map[ast.Var]int
	steps     map[ast.Var]int
	searched  map[ast.Var]bool
	iterates  bool
}

// scope holds the variables that have a value already. A closure sees those around it.
type scope map[ast.Var]bool

func (outer scope) inner() scope {
	copied := make(scope, len(outer))
	for name := range outer {
		copied[name] = true
	}
	return copied
}

func newBlindness(environment *ast.TypeEnv, strings, inspects, searches map[string]bool) *blindness {
	return &blindness{environment: environment, strings: strings, inspects: inspects, searches: searches}
}

const (
	seesPosition = "index"
	seesArray    = "array"
)

func (b *blindness) report(why string) { b.inspects[why] = true }

// compare reports an equality that may hold or not by the order of a list.
func (b *blindness) compare(left, right types.Type) {
	if !equatable(left, right) {
		b.report(seesArray)
	}
	// An object of the input may be compared with one whose keys are strings.
	if mayBe(left, isObject) && mayBe(right, isObject) {
		b.addNames(left)
		b.addNames(right)
	}
}

func (b *blindness) module(module *ast.Module) {
	definitions := map[string]int{}
	for _, rule := range module.Rules {
		if !rule.Default {
			definitions[rule.Head.Ref().GroundPrefix().String()]++
		}
	}
	for _, rule := range module.Rules {
		for branch := rule; branch != nil; branch = branch.Else {
			b.rule(branch, definitions[rule.Head.Ref().GroundPrefix().String()] > 1)
		}
	}
}

// rule looks at a branch. Several: other rules have the same name, so that two values can meet.
func (b *blindness) rule(rule *ast.Rule, several bool) {
	b.shapes, b.uses, b.positions, b.iterates = map[ast.Var]types.Type{}, map[ast.Var]int{}, map[ast.Var]int{}, false
	b.countUses(rule)
	b.searched, b.steps = searchedVariables(rule.Body, b.uses), stepUses(rule.Body)
	bound := scope{}
	for _, argument := range rule.Head.Args {
		b.match(argument, types.A, bound)
	}
	b.body(rule.Body, bound)
	b.head(rule.Head, several, bound)
}

func (b *blindness) countUses(rule *ast.Rule) {
	count := func(term *ast.Term) bool {
		if name, ok := term.Value.(ast.Var); ok {
			b.uses[name]++
		}
		return false
	}
	ast.WalkTerms(rule.Head, count)
	ast.WalkTerms(rule.Head.Reference, count)
	ast.WalkTerms(rule.Body, count)
	ast.WalkRefs(rule.Body, func(reference ast.Ref) bool {
		if name, ok := positionOfCandidate(reference); ok {
			b.positions[name]++
		}
		return false
	})
}

// seesKey reports whether a rule does anything with the keys that a variable runs over. A variable that stands nowhere else
// only says that there is some key; positions of one and the same list are as good as its elements.
func (b *blindness) seesKey(name ast.Var) bool {
	if b.positions[name] > 0 {
		return b.uses[name] > b.positions[name]
	}
	return b.uses[name] > 1
}

// positionOfCandidate gives i of `input.candidates[i]`.
func positionOfCandidate(reference ast.Ref) (ast.Var, bool) {
	if len(reference) < 3 || !reference.HasPrefix(ast.Ref{ast.InputRootDocument, ast.StringTerm("candidates")}) {
		return "", false
	}
	name, ok := reference[2].Value.(ast.Var)
	return name, ok
}

// head looks at what a rule gives: an element, keys, or a value that is the only one.
func (b *blindness) head(head *ast.Head, several bool, bound scope) {
	reference := head.Ref()
	answers := answersHost(reference)
	dynamic := false
	for _, term := range reference[1:] {
		if _, constant := term.Value.(ast.String); constant {
			continue
		}
		dynamic = true
		key := b.term(term, bound)
		b.compare(key, key)
		// Written as JSON, the key 1 would be the string 1.
		if answers && mayBe(key, isNumber) {
			b.report("key")
		}
	}
	if head.Key != nil && head.RuleKind() == ast.MultiValue {
		element := b.term(head.Key, bound)
		b.compare(element, element)
	}
	if head.Value == nil {
		return
	}
	value := b.term(head.Value, bound)
	if several || dynamic || b.iterates {
		b.compare(value, value)
	}
	if answers && !arrayless(value) {
		b.report(seesArray)
	}
}

// answersHost: the host itself reads pass, reason and waive.
func answersHost(reference ast.Ref) bool {
	for _, term := range reference {
		name := term.Value.String()
		if text, ok := term.Value.(ast.String); ok {
			name = string(text)
		}
		if name == "pass" || name == "reason" || name == "waive" {
			return true
		}
	}
	return false
}

func (b *blindness) body(body ast.Body, bound scope) {
	for _, expression := range body {
		if len(expression.With) > 0 {
			b.report("with")
		}
		inside := bound
		if expression.Negated {
			inside = bound.inner()
		}
		b.expression(expression, inside)
	}
}

func (b *blindness) expression(expression *ast.Expr, bound scope) {
	switch terms := expression.Terms.(type) {
	case *ast.Term:
		b.term(terms, bound)
	case []*ast.Term:
		b.call(terms[0], terms[1:], bound)
	case *ast.Every:
		b.every(terms, bound)
	case *ast.SomeDecl:
	default:
		b.report("expression")
	}
}

func (b *blindness) every(every *ast.Every, outer scope) {
	bound := outer.inner()
	domain := b.term(every.Domain, bound)
	if every.Key != nil {
		b.key(every.Key, domain, bound)
	}
	b.match(every.Value, values(domain), bound)
	b.body(every.Body, bound)
}

// term gives the type of a term and looks at everything in it.
func (b *blindness) term(term *ast.Term, bound scope) types.Type {
	switch value := term.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return b.environment.GetByValue(value)
	case ast.Var:
		return known(b.shapes[value])
	case ast.Ref:
		return b.reference(value, bound)
	case ast.Call:
		return b.call(value[0], value[1:], bound)
	case *ast.Array:
		elements := make([]types.Type, value.Len())
		for i := range elements {
			elements[i] = b.term(value.Elem(i), bound)
		}
		return types.NewArray(elements, nil)
	case ast.Set:
		var element types.Type
		value.Foreach(func(one *ast.Term) { element = types.Or(element, b.term(one, bound)) })
		b.compare(element, element)
		return types.NewSet(element)
	case ast.Object:
		return b.object(value, bound)
	case *ast.ArrayComprehension:
		inside := b.closure(value.Body, bound)
		return types.NewArray(nil, b.term(value.Term, inside))
	case *ast.SetComprehension:
		inside := b.closure(value.Body, bound)
		element := b.term(value.Term, inside)
		b.compare(element, element)
		return types.NewSet(element)
	case *ast.ObjectComprehension:
		inside := b.closure(value.Body, bound)
		key, content := b.term(value.Key, inside), b.term(value.Value, inside)
		b.compare(key, key)
		b.compare(content, content)
		return types.NewObject(nil, types.NewDynamicProperty(key, content))
	default:
		b.report("term")
		return types.A
	}
}

// closure looks at the body of a comprehension: what iterates in there gives no second value to the rule.
func (b *blindness) closure(body ast.Body, outer scope) scope {
	bound, iterates := outer.inner(), b.iterates
	b.body(body, bound)
	b.iterates = iterates
	return bound
}

func (b *blindness) object(object ast.Object, bound scope) types.Type {
	static := []*types.StaticProperty{}
	var dynamic *types.DynamicProperty
	object.Foreach(func(key, content *ast.Term) {
		shape := b.term(content, bound)
		if name, ok := key.Value.(ast.String); ok {
			static = append(static, types.NewStaticProperty(string(name), shape))
			return
		}
		keyShape := b.term(key, bound)
		b.compare(keyShape, keyShape)
		if dynamic != nil {
			keyShape, shape = types.Or(dynamic.Key, keyShape), types.Or(dynamic.Value, shape)
		}
		dynamic = types.NewDynamicProperty(keyShape, shape)
	})
	return types.NewObject(static, dynamic)
}
