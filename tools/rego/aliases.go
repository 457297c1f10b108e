package main

import "github.com/open-policy-agent/opa/v1/ast"

// aliasedParts are the parts of the input that every request has, so that a name for one is always defined: where
// `r := input.request`, `r.zdr` reads what `input.request.zdr` reads, and nothing else.
var aliasedParts = setOf(
	"input.budget", "input.key", "input.key.labels", "input.request", "input.request.needs", "input.time",
	"input.workspace", "input.workspace.labels",
)

// withoutAliases gives the rules of a module, in which names for parts of the input are written out where that is what
// they stand for everywhere. The module itself is left as it is.
func withoutAliases(module *ast.Module) []*ast.Rule {
	rules := module.Copy().Rules
	rules = expandRules(module.Package.Path, rules)
	for _, rule := range rules {
		for {
			name, part, ok := aliasIn(rule)
			if !ok {
				break
			}
			expandLocal(rule, name, part)
		}
	}
	return rules
}

// aliasIn finds a local name of a rule that is only ever given one part of the input, and is used.
func aliasIn(rule *ast.Rule) (ast.Var, ast.Ref, bool) {
	parts, counts, others := map[ast.Var]ast.Ref{}, map[ast.Var]int{}, map[ast.Var]bool{}
	exclude := func(terms ...*ast.Term) {
		for _, term := range terms {
			ast.WalkVars(term, func(name ast.Var) bool { others[name] = true; return false })
		}
	}
	for branch := rule; branch != nil; branch = branch.Else {
		exclude(branch.Head.Args...)
		exclude(branch.Head.Ref()...)
	}
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.SomeDecl:
			for _, symbol := range node.Symbols {
				exclude(declared(symbol)...)
			}
		case *ast.Every:
			if node.Key != nil {
				exclude(node.Key)
			}
			exclude(node.Value)
		case *ast.Expr:
			if !node.IsAssignment() {
				return false
			}
			name, part := assignedPart(node)
			if known, ok := parts[name]; part == nil || (ok && !known.Equal(part)) {
				exclude(node.Operand(0))
			} else {
				parts[name] = part
				counts[name]--
			}
		}
		return false
	}).Walk(rule)
	ast.WalkVars(rule, func(name ast.Var) bool { counts[name]++; return false })
	for name, part := range parts {
		if !others[name] && counts[name] > 0 {
			return name, part, true
		}
	}
	return "", nil, false
}

// declared gives what `some x` and `some x in list` give a value.
func declared(symbol *ast.Term) []*ast.Term {
	call, ok := symbol.Value.(ast.Call)
	if !ok {
		return []*ast.Term{symbol}
	}
	return call[1 : len(call)-1]
}

// assignedPart gives r and input.request of `r := input.request`.
func assignedPart(expression *ast.Expr) (ast.Var, ast.Ref) {
	name, isName := expression.Operand(0).Value.(ast.Var)
	part, isPart := expression.Operand(1).Value.(ast.Ref)
	if !isName || !isPart || !aliasedParts[part.String()] || len(expression.With) > 0 {
		return "", nil
	}
	return name, part
}

func expandLocal(rule *ast.Rule, alias ast.Var, part ast.Ref) {
	expand(rule, func(node any) any {
		switch node := node.(type) {
		case *ast.Expr:
			if !node.IsAssignment() {
				return node
			}
			if name, _ := assignedPart(node); name == alias {
				return ast.NewExpr(ast.BooleanTerm(true))
			}
		case ast.Ref:
			if node[0].Value.Compare(alias) == 0 {
				return part.Concat(node[1:])
			}
		case ast.Var:
			if node == alias {
				return part
			}
		}
		return node
	})
}

// expandRules does the same for rules like `needs := input.request.needs`. Only a policy's own module refers to them: of a
// library, others may.
func expandRules(home ast.Ref, rules []*ast.Rule) []*ast.Rule {
	if !home.HasPrefix(policyPackage) {
		return rules
	}
	parts := map[string]ast.Ref{}
	for _, rule := range rules {
		name := rule.Head.Ref().String()
		if part := rulePart(rule); part != nil && parts[name] == nil && !answersHost(rule.Head.Ref()) {
			parts[name] = part
		} else {
			parts[name] = ast.Ref{}
		}
	}
	used := map[string]bool{}
	for _, rule := range rules {
		ast.WalkRefs(rule, func(reference ast.Ref) bool {
			if !reference.HasPrefix(home) {
				return false
			}
			if name := nameAt(reference, len(home)); name == "" {
				// Whatever rule is meant: each has to stay.
				clear(parts)
			} else {
				used[name] = true
			}
			return false
		})
	}
	kept := []*ast.Rule{}
	for _, rule := range rules {
		if name := rule.Head.Ref().String(); len(parts[name]) > 0 && used[name] {
			continue
		}
		expand(rule, func(node any) any {
			if reference, ok := node.(ast.Ref); ok && reference.HasPrefix(home) {
				if part := parts[nameAt(reference, len(home))]; len(part) > 0 {
					return part.Concat(reference[len(home)+1:])
				}
			}
			return node
		})
		kept = append(kept, rule)
	}
	return kept
}

var policyPackage = ast.MustParseRef("data.signalbox.policy")

// rulePart gives the part of the input that a rule is another name for; nil for other rules.
func rulePart(rule *ast.Rule) ast.Ref {
	part, ok := ruleValue(rule)
	isPlain := len(rule.Head.Args) == 0 && rule.Else == nil && !rule.Default && len(rule.Head.Ref()) == 1 &&
		rule.Body.Equal(ast.NewBody(ast.NewExpr(ast.BooleanTerm(true))))
	if !ok || !isPlain || !aliasedParts[part.String()] {
		return nil
	}
	return part
}

func ruleValue(rule *ast.Rule) (ast.Ref, bool) {
	if rule.Head.Value == nil || rule.Head.Key != nil {
		return nil, false
	}
	part, ok := rule.Head.Value.Value.(ast.Ref)
	return part, ok
}

// nameAt gives a step of a reference that is written in the source; "" for others.
func nameAt(reference ast.Ref, position int) string {
	if position >= len(reference) {
		return ""
	}
	name, _ := reference[position].Value.(ast.String)
	return string(name)
}

// expand replaces nodes below a rule.
func expand(rule *ast.Rule, replace func(node any) any) {
	transformer := ast.NewGenericTransformer(func(node any) (any, error) { return replace(node), nil })
	if _, err := ast.Transform(transformer, rule); err != nil {
		panic(err)
	}
}
