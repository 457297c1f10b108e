package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The parts of input and data that the answers of a policy depend on, as dotted paths; a path covers everything below it.
//
// A part of the input that is only passed on is not read: as an argument, by an assignment, inside of an object or of an
// array, by object.get, object.union or a comprehension. It is read where its value can change what is evaluated: where it
// is compared, tested, iterated over, put into a set, used as a key, given to any other built-in, or answered to the host.
// Functions are followed call by call. Everything not known here to pass values on reads them.

// requiredParts are the parts of the input that every request has: to name one does not depend on the request.
var requiredParts = setOf(
	"input", "input.operation",
	"input.workspace", "input.workspace.id", "input.workspace.tier", "input.workspace.labels",
	"input.key", "input.key.environment", "input.key.workload", "input.key.owner", "input.key.labels",
	"input.request", "input.request.route", "input.request.needs", "input.request.stream", "input.request.context",
	"input.request.max_output", "input.request.reasoning_effort", "input.request.dimensions",
	"input.request.allow_fallbacks", "input.request.data_collection", "input.request.zdr",
	"input.budget", "input.budget.remaining", "input.time", "input.time.day", "input.time.hour", "input.local_time",
	"input.candidates",
	"data", "data.regions", "data.approved", "data.approved.regions", "data.approved.providers", "data.approved.routes",
	"data.approved.capabilities", "data.approved.dimensions",
)

var policyPackage = ast.MustParseRef("data.signalbox.policy")

// stringLists are the lists of strings in the input. Below one stands the string that is searched for, where a policy reads
// no more of the list than whether it has this string. Of an object `in` searches every value.
var stringLists = setOf("input.key.labels", "input.request.needs", "input.workspace.labels")

// objectParts have members of fixed names, which every request has: their names do not depend on the request.
var objectParts = setOf("input", "input.workspace", "input.key", "input.request", "input.budget", "input.time")

// readFacts: the reads of a policy, sorted, none below another; and whether it may compare two strings of input and data
// with each other. Otherwise it compares them with strings of the source alone, so that the strings at one path can be
// permuted apart from those at another. Hours: the numbers of the source that hours of input.local_time are compared with;
// nil where an hour is used in any other way, so that each may have an answer of its own.
type readFacts struct {
	paths   []string
	relates bool
	hours   []float64
}

// everything is what a policy reads that cannot be followed.
var everything = readFacts{[]string{"data", "input"}, true, nil}

// reader follows the rules of one policy.
type reader struct {
	rules       map[string][]*ast.Rule
	values      map[string]*value
	reads       map[string]bool
	evaluations int
	// iterates: the branch that is followed may give several values.
	iterates bool
	// relates: two strings of input or data may be compared with each other, and not only with strings of the source.
	relates bool
	// hours are the numbers that hours are compared with; usesHours: one is used in another way.
	hours     map[float64]bool
	usesHours bool
	failed    bool
}

// readsOf gives the facts of the policy in a module; no paths for libraries and tests.
func readsOf(path string, modules map[string]*ast.Module) readFacts {
	module := modules[path]
	if strings.HasSuffix(path, "_test.rego") || !module.Package.Path.HasPrefix(policyPackage) {
		return readFacts{}
	}
	r := reader{rules: rulesByName(modules), values: map[string]*value{}, reads: map[string]bool{}, hours: map[float64]bool{}}
	for _, rule := range module.Rules {
		if name := rule.Ref().GroundPrefix().String(); answersHost(rule.Ref()) && !isFunction(r.rules[name]) {
			r.use(r.rule(name))
		}
	}
	if r.failed || r.evaluations > mostEvaluations {
		return everything
	}
	sorted := slices.Sorted(maps.Keys(r.reads))
	paths := slices.DeleteFunc(slices.Clone(sorted), func(path string) bool {
		return slices.ContainsFunc(sorted, func(other string) bool { return strings.HasPrefix(path, other+".") })
	})
	if r.usesHours {
		return readFacts{paths, r.relates, nil}
	}
	return readFacts{paths, r.relates, append([]float64{}, slices.Sorted(maps.Keys(r.hours))...)}
}

// rulesByName gives the rules of all modules but tests by the part of their name that is known.
func rulesByName(modules map[string]*ast.Module) map[string][]*ast.Rule {
	found := map[string][]*ast.Rule{}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		if strings.HasSuffix(path, "_test.rego") {
			continue
		}
		for _, rule := range modules[path].Rules {
			name := rule.Ref().GroundPrefix().String()
			found[name] = append(found[name], rule)
		}
	}
	return found
}

// use notes that what is evaluated depends on all of a value.
func (r *reader) use(v *value) {
	if v == nil {
		return
	}
	for _, part := range v.parts {
		r.note(part.Root, part.Path)
	}
	for _, field := range v.fields {
		r.use(field)
	}
	r.use(v.rest)
	r.use(v.keys)
}

// note notes a part up to the first step that is known at run time only.
func (r *reader) note(root string, path []*string) {
	r.reads[partName(root, path)] = true
	r.usesHours = r.usesHours || coversHour(root, path)
}

// coversHour reports whether a part is the hour of a zone, or holds one.
func coversHour(root string, path []*string) bool {
	if root != "input" || len(path) > 0 && path[0] != nil && *path[0] != "local_time" {
		return false
	}
	return len(path) < 3 || path[2] == nil || *path[2] == "hour"
}

// isLocalTime reports whether a part is a zone or a member of one. The host gives every zone that the source names, so that
// to name one does not depend on the request.
func isLocalTime(name string, path []*string) bool {
	if !strings.HasPrefix(name, "input.local_time.") {
		return false
	}
	return len(path) == 2 || len(path) == 3 && (*path[2] == "hour" || *path[2] == "weekday")
}

// compareHours notes a comparison of nothing but hours with numbers that the source writes. Of an hour the policy then sees
// no more than on which side of each number it is.
func (r *reader) compareHours(hours *value, written *ast.Term) bool {
	numbers, ok := numbersOf(written)
	if !ok || len(hours.parts) == 0 || len(hours.words) > 0 || hours.structured() || hours.open {
		return false
	}
	for _, part := range hours.parts {
		if _, known := isPart(part); !known || len(part.Path) != 3 || !coversHour(part.Root, part.Path) {
			return false
		}
	}
	for _, part := range hours.parts {
		r.reads[partName(part.Root, part.Path)] = true
	}
	for _, number := range numbers {
		r.hours[number] = true
	}
	return true
}

// numbersOf gives a number, or the elements of a list or a set of numbers.
func numbersOf(written *ast.Term) ([]float64, bool) {
	found, ok := []float64{}, true
	add := func(one *ast.Term) {
		number, isNumber := one.Value.(ast.Number)
		size, fits := number.Float64()
		found, ok = append(found, size), ok && isNumber && fits
	}
	switch content := written.Value.(type) {
	case ast.Number:
		add(written)
	case *ast.Array:
		content.Foreach(add)
	case ast.Set:
		content.Foreach(add)
	default:
		return nil, false
	}
	return found, ok
}

func partName(root string, path []*string) string {
	names := []string{root}
	for _, step := range path {
		if step == nil {
			break
		}
		names = append(names, *step)
	}
	return strings.Join(names, ".")
}

// isPart reports whether all steps of a part are known, and its name.
func isPart(part partOfIt) (string, bool) {
	return partName(part.Root, part.Path), !part.Key && !slices.Contains(part.Path, nil)
}

// compare notes that all strings of some values may be compared with each other.
func (r *reader) compare(all ...*value) {
	for _, one := range all {
		r.use(one)
	}
	r.relate(all...)
}

// relate does the same without reading the values.
func (r *reader) relate(all ...*value) {
	names, several := map[string]bool{}, 0
	for _, one := range all {
		if addStrings(one, names) {
			several++
		}
	}
	r.relates = r.relates || len(names)+several > 1
}

// addStrings adds the members of the input that a value can be. Several: it can be strings of more than one member.
func addStrings(v *value, names map[string]bool) (several bool) {
	if v == nil {
		return false
	}
	several = v.open
	for _, part := range v.parts {
		name := partName(part.Root, part.Path)
		isCandidate := name == "input.candidates"
		if isCandidate && len(part.Path) > 2 && part.Path[2] != nil {
			name += "." + *part.Path[2]
			isCandidate = false
		}
		names[name] = true
		several = several || part.Key || objectParts[name] || part.Root == "data" || isCandidate
	}
	for _, field := range v.fields {
		several = addStrings(field, names) || several
	}
	several = addStrings(v.rest, names) || several
	return addStrings(v.keys, names) || several
}

// rule gives what the rules of a name answer.
func (r *reader) rule(name string) *value {
	if known := r.values[name]; known != nil {
		return known
	}
	r.values[name] = anything
	r.values[name] = r.branches(name, nil)
	return r.values[name]
}

// branches follows all rules of a name; of functions, with their arguments.
func (r *reader) branches(name string, arguments []*value) *value {
	outer := r.iterates
	defer func() { r.iterates = outer }()
	answer := nothing
	definitions := 0
	for _, rule := range r.rules[name] {
		if !rule.Default {
			definitions++
		}
		for branch := rule; branch != nil; branch = branch.Else {
			if r.evaluations++; r.evaluations > mostEvaluations {
				return anything
			}
			r.iterates = false
			bound := variables{}
			for i, parameter := range branch.Head.Args {
				r.match(parameter, arguments[i], bound)
			}
			r.body(branch.Body, bound)
			given := r.head(branch, bound)
			if r.iterates {
				// Two values of one rule are compared.
				r.compare(given, given)
			}
			answer = join(answer, given)
		}
	}
	if definitions > 1 {
		r.compare(answer, answer)
	}
	return answer
}

func (r *reader) head(rule *ast.Rule, bound variables) *value {
	head := rule.Head
	answer := nothing
	if head.Key != nil && head.RuleKind() == ast.MultiValue {
		element := r.term(head.Key, bound)
		r.compare(element, element)
		answer = &value{rest: element, keys: element}
	} else if head.Value != nil {
		answer = r.term(head.Value, bound)
	}
	reference := rule.Ref()
	for i := len(reference) - 1; i >= len(reference.GroundPrefix()); i-- {
		key := r.term(reference[i], bound)
		r.compare(key, key)
		r.compare(answer, answer)
		answer = &value{keys: key, rest: answer}
	}
	return answer
}

func (r *reader) body(body ast.Body, bound variables) {
	for _, expression := range body {
		if len(expression.With) > 0 {
			r.failed = true
		}
		switch terms := expression.Terms.(type) {
		case *ast.Term:
			r.use(r.term(terms, bound))
		case []*ast.Term:
			answer := r.call(terms[0], terms[1:], bound)
			r.use(answer)
		case *ast.Every:
			domain := r.term(terms.Domain, bound)
			r.iterate(domain)
			if terms.Key != nil {
				r.match(terms.Key, r.names(domain), bound)
			}
			r.match(terms.Value, domain.elements(), bound)
			outer := r.iterates
			r.body(terms.Body, bound)
			r.iterates = outer
		case *ast.SomeDecl:
		default:
			r.failed = true
		}
	}
}

func (r *reader) term(term *ast.Term, bound variables) *value {
	switch content := term.Value.(type) {
	case ast.String:
		return &value{words: []*word{{text: string(content)}}}
	case ast.Null, ast.Boolean, ast.Number:
		return nothing
	case ast.Var:
		return r.variable(content, bound)
	case ast.Ref:
		return r.reference(content, bound)
	case ast.Call:
		return r.call(content[0], content[1:], bound)
	case *ast.Array:
		made := &value{rest: nothing}
		content.Foreach(func(one *ast.Term) { made.rest = join(made.rest, r.term(one, bound)) })
		return made
	case ast.Set:
		made := &value{rest: nothing}
		content.Foreach(func(one *ast.Term) { made.rest = join(made.rest, r.term(one, bound)) })
		r.compare(made.rest, made.rest)
		made.keys = made.rest
		return made
	case ast.Object:
		return r.object(content, bound)
	case *ast.ArrayComprehension:
		r.closure(content.Body, bound)
		return &value{rest: r.term(content.Term, bound)}
	case *ast.SetComprehension:
		r.closure(content.Body, bound)
		element := r.term(content.Term, bound)
		r.compare(element, element)
		return &value{rest: element, keys: element}
	case *ast.ObjectComprehension:
		r.closure(content.Body, bound)
		key, inner := r.term(content.Key, bound), r.term(content.Value, bound)
		r.compare(key, key)
		r.compare(inner, inner)
		return &value{keys: key, rest: inner}
	}
	r.failed = true
	return anything
}

func (r *reader) variable(name ast.Var, bound variables) *value {
	if bound[name] == nil {
		r.failed = true
	}
	return orNothing(bound[name])
}

func (r *reader) closure(body ast.Body, bound variables) {
	outer := r.iterates
	r.body(body, bound)
	r.iterates = outer
}

func (r *reader) object(object ast.Object, bound variables) *value {
	made := &value{fields: map[string]*value{}, keys: nothing}
	object.Foreach(func(key, content *ast.Term) {
		given := r.term(content, bound)
		if name, ok := key.Value.(ast.String); ok {
			made.fields[string(name)] = given
			made.keys = join(made.keys, r.term(key, bound))
			return
		}
		name := r.term(key, bound)
		r.compare(name, name)
		made.keys, made.rest = join(made.keys, name), join(made.rest, given)
	})
	return made
}

func (r *reader) reference(reference ast.Ref, bound variables) *value {
	whole, rest := r.root(reference, bound)
	for _, step := range rest {
		whole = r.step(whole, step, bound)
	}
	return whole
}

func (r *reader) root(reference ast.Ref, bound variables) (*value, ast.Ref) {
	head, isVariable := reference[0].Value.(ast.Var)
	if !isVariable {
		return r.term(reference[0], bound), reference[1:]
	}
	if head == "input" {
		return partValue("input", nil, false), reference[1:]
	}
	if head != "data" {
		return r.variable(head, bound), reference[1:]
	}
	ground := reference.GroundPrefix()
	for length := len(ground); length > 1; length-- {
		name := ground[:length].String()
		if rules := r.rules[name]; len(rules) > 0 && !isFunction(rules) {
			return r.rule(name), reference[length:]
		}
	}
	if len(reference) > 1 && reference[1].Value.Compare(ast.String("signalbox")) != 0 {
		return partValue("data", nil, false), reference[1:]
	}
	// Any rule below may be meant.
	for _, name := range slices.Sorted(maps.Keys(r.rules)) {
		if strings.HasPrefix(name, ground.String()) && !isFunction(r.rules[name]) {
			r.use(r.rule(name))
		}
	}
	return anything, reference[len(ground):]
}

func (r *reader) step(whole *value, step *ast.Term, bound variables) *value {
	if name, ok := step.Value.(ast.String); ok {
		return r.member(whole, string(name))
	}
	if name, ok := step.Value.(ast.Var); ok && bound[name] == nil {
		r.iterates = true
		r.iterate(whole)
		bound[name] = r.names(whole)
		return whole.elements()
	}
	return r.lookup(whole, r.term(step, bound))
}

// lookup gives the member of a name that is known at run time only; of one of a few strings, these members alone.
func (r *reader) lookup(whole, name *value) *value {
	if isWords(name) {
		for _, part := range whole.parts {
			// Numbers are not followed, and may be positions.
			if stringLists[partName(part.Root, part.Path)] || partName(part.Root, part.Path) == "input.candidates" {
				r.note(part.Root, part.Path)
			}
		}
		found := nothing
		for _, one := range name.words {
			found = join(found, r.member(whole, one.text))
		}
		return found
	}
	r.compare(name, r.names(whole))
	r.iterate(whole)
	for _, part := range whole.parts {
		// A name that is no member finds nothing, so it matters which there are: of the input's objects always the same.
		if named, ok := isPart(part); !ok || !objectParts[named] {
			r.note(part.Root, part.Path)
		}
	}
	return whole.elements()
}

func isWords(v *value) bool {
	return len(v.words) > 0 && !v.open && len(v.parts) == 0 && !v.structured()
}

// member gives the member of a name. Whether there is one is read where requests differ in it.
func (r *reader) member(whole *value, name string) *value {
	r.use(whole.keys)
	found := join(whole.fields[name], whole.rest)
	for _, part := range whole.parts {
		if part.Key {
			found = join(found, anything)
			continue
		}
		path := append(slices.Clone(part.Path), &name)
		named, ok := isPart(partOfIt{Root: part.Root, Path: path})
		if parent, _ := isPart(part); ok && objectParts[parent] && !requiredParts[named] {
			// No request has it.
			continue
		}
		if !ok || !requiredParts[named] && !isLocalTime(named, path) {
			r.note(part.Root, path)
		}
		found = join(found, partValue(part.Root, path, false))
	}
	return orNothing(found).openAs(whole)
}

// iterate notes that what is evaluated depends on how many members a value has.
func (r *reader) iterate(whole *value) {
	for _, part := range whole.parts {
		if named, ok := isPart(part); !ok || !objectParts[named] {
			r.note(part.Root, append(slices.Clone(part.Path), nil))
		}
	}
	r.use(whole.keys)
}

// names gives what the members of a value are called.
func (r *reader) names(whole *value) *value {
	found := orNothing(whole.keys)
	for _, part := range whole.parts {
		if named, ok := isPart(part); ok && objectParts[named] {
			for _, required := range slices.Sorted(maps.Keys(requiredParts)) {
				if name, ok := strings.CutPrefix(required, named+"."); ok && !strings.Contains(name, ".") {
					found = join(found, &value{words: []*word{{text: name}}})
				}
			}
			continue
		}
		// Positions of a list, or names of routes.yaml: the part is read.
		found = join(found, anything)
	}
	if whole.open {
		found = join(found, anything)
	}
	return found
}

// match gives a variable that has no value yet what it is matched with, and compares everything else.
func (r *reader) match(pattern *ast.Term, given *value, bound variables) {
	switch content := pattern.Value.(type) {
	case ast.Var:
		if bound[content] == nil {
			bound[content] = orNothing(given)
			return
		}
	case *ast.Array:
		if hasVariables(pattern) {
			r.iterate(given)
			content.Foreach(func(one *ast.Term) { r.match(one, given.elements(), bound) })
			return
		}
	case ast.Object:
		if hasVariables(pattern) {
			r.iterate(given)
			content.Foreach(func(key, inner *ast.Term) {
				if name, ok := key.Value.(ast.String); ok {
					r.match(inner, r.member(given, string(name)), bound)
				} else {
					r.match(inner, r.lookup(given, r.term(key, bound)), bound)
				}
			})
			return
		}
	}
	if !r.compareHours(given, pattern) {
		r.compare(r.term(pattern, bound), given)
	}
}

func (r *reader) unify(left, right *ast.Term, bound variables) {
	if name, ok := left.Value.(ast.Var); ok && bound[name] == nil {
		bound[name] = r.term(right, bound)
		return
	}
	if isPattern(left) && isPattern(right) && hasVariables(left) && hasVariables(right) {
		// Either side may give the other's variables their values.
		for _, term := range []*ast.Term{left, right} {
			ast.WalkVars(term, func(name ast.Var) bool {
				r.use(bound[name])
				if bound[name] == nil {
					bound[name] = anything
				}
				return false
			})
			r.use(r.term(term, bound))
		}
		r.relates = true
		return
	}
	if isPattern(left) && hasVariables(left) {
		r.match(left, r.term(right, bound), bound)
		return
	}
	r.match(right, r.term(left, bound), bound)
}

// call follows a call; an operand more than the function has parameters takes the result.
func (r *reader) call(operator *ast.Term, operands []*ast.Term, bound variables) *value {
	name := operator.Value.String()
	if name == "eq" || name == "equal" || name == "assign" {
		r.unify(operands[0], operands[1], bound)
		return nothing
	}
	rules := r.rules[name]
	parameters := len(operands)
	if len(rules) > 0 {
		parameters = min(parameters, len(rules[0].Head.Args))
	} else if builtin := allBuiltins[name]; builtin != nil {
		parameters = min(parameters, builtin.Decl.Arity())
	} else {
		r.failed = true
	}
	if name == "walk" {
		r.iterates = true
	}
	arguments := make([]*value, parameters)
	for i := range arguments {
		arguments[i] = r.term(operands[i], bound)
	}
	var answer *value
	if len(rules) > 0 {
		answer = r.branches(name, arguments)
	} else {
		answer = r.builtin(name, arguments, operands)
	}
	for _, output := range operands[parameters:] {
		r.match(output, answer, bound)
	}
	if len(operands) > parameters {
		return nothing
	}
	return answer
}

// builtin gives what a built-in answers. One that is not named here reads all of its arguments.
func (r *reader) builtin(name string, arguments []*value, operands []*ast.Term) *value {
	switch name {
	case "internal.member_2":
		if !r.compareHours(arguments[0], operands[1]) {
			r.search(arguments[0], arguments[1])
		}
		return nothing
	case "count":
		for _, part := range arguments[0].parts {
			if named, ok := isPart(part); !ok || !objectParts[named] {
				r.note(part.Root, part.Path)
			}
		}
		r.use(arguments[0].keys)
		return nothing
	case "object.get":
		return join(r.objectGet(arguments[0], arguments[1], operands[1]), arguments[2])
	case "object.union", "array.concat":
		r.use(arguments[0].keys)
		r.use(arguments[1].keys)
		return join(arguments[0], arguments[1])
	case "object.keys":
		names := r.names(arguments[0])
		r.iterate(arguments[0])
		return &value{rest: names, keys: names}
	case "array.reverse":
		r.iterate(arguments[0])
		return &value{rest: arguments[0].elements()}
	}
	if _, ok := searchedText(name, operands); ok {
		r.use(arguments[0])
		return nothing
	}
	if name == "walk" || name == "json.marshal" {
		r.use(arguments[0])
		return anything
	}
	if isComparison[name] && (r.compareHours(arguments[0], operands[1]) || r.compareHours(arguments[1], operands[0])) {
		return nothing
	}
	r.compare(arguments...)
	if blindBuiltins[name] || isComparison[name] {
		return nothing
	}
	// Strings that a built-in makes are none of the source's, and what it makes is read already.
	return anything
}

var isComparison = setOf("neq", "lt", "lte", "gt", "gte")

// search: `x in xs` compares x with every element.
func (r *reader) search(one, all *value) {
	r.use(one)
	for _, part := range all.parts {
		named, ok := isPart(part)
		if !ok || !stringLists[named] || !isWords(one) {
			r.note(part.Root, part.Path)
			continue
		}
		for _, word := range one.words {
			r.note(part.Root, append(slices.Clone(part.Path), &word.text))
		}
	}
	r.use(&value{fields: all.fields, rest: all.rest, keys: all.keys})
	r.relate(one, all)
}

// objectGet: a key that is an array is a path.
func (r *reader) objectGet(whole, key *value, written *ast.Term) *value {
	if path, ok := written.Value.(*ast.Array); ok && path.Len() > 0 {
		steps := []*ast.Term{}
		path.Foreach(func(step *ast.Term) { steps = append(steps, step) })
		names := words(steps)
		if !slices.Contains(names, nil) {
			for _, name := range names {
				whole = r.member(whole, *name)
			}
			return whole
		}
	}
	if key.rest == nil && !key.open {
		return r.lookup(whole, key)
	}
	r.use(whole)
	r.compare(key, r.names(whole))
	return anything
}
