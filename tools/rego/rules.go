package main

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

func factsOfRule(rule *ast.Rule) ruleFacts {
	reference := rule.Head.Ref()
	facts := ruleFacts{position: at(rule.Location), Kind: "value", Default: rule.Default, Results: []resultFacts{}}
	if head, ok := reference[0].Value.(ast.Var); ok {
		name := string(head)
		facts.Path = append([]*string{&name}, words(reference[1:])...)
	}
	switch {
	case len(rule.Head.Args) > 0:
		facts.Kind = "function"
	case rule.Head.RuleKind() == ast.MultiValue:
		facts.Kind = "set"
	}
	for branch := rule; branch != nil; branch = branch.Else {
		if neverHolds(branch.Body) {
			continue
		}
		term := branch.Head.Value
		if facts.Kind == "set" {
			term = branch.Head.Key
		}
		facts.Results = append(facts.Results, resultOf(term, branch.Location))
	}
	return facts
}

func resultOf(term *ast.Term, location *ast.Location) resultFacts {
	result := resultFacts{position: at(location)}
	// A rule without a written value is true.
	if term == nil {
		result.Constant, result.Value = true, true
		return result
	}
	if term.Location != nil {
		result.position = at(term.Location)
	}
	if ast.IsConstant(term.Value) {
		if value, err := ast.JSON(term.Value); err == nil {
			result.Constant, result.Value = true, value
		}
	}
	return result
}

// neverHolds finds bodies that are false as written: `false`, `not true`, a comparison of two constants.
func neverHolds(body ast.Body) bool {
	for _, expression := range body {
		if truth, known := truthOf(expression); known && !truth {
			return true
		}
	}
	return false
}

func truthOf(expression *ast.Expr) (truth bool, known bool) {
	if len(expression.With) > 0 {
		return false, false
	}
	switch terms := expression.Terms.(type) {
	case *ast.Term:
		truth, known = true, ast.IsConstant(terms.Value)
		if value, ok := terms.Value.(ast.Boolean); ok {
			truth = bool(value)
		}
	case []*ast.Term:
		truth, known = comparisonOf(terms)
	}
	return truth != expression.Negated, known
}

func comparisonOf(terms []*ast.Term) (truth bool, known bool) {
	if len(terms) != 3 || !ast.IsConstant(terms[1].Value) || !ast.IsConstant(terms[2].Value) {
		return false, false
	}
	order := ast.Compare(terms[1].Value, terms[2].Value)
	switch terms[0].String() {
	case "equal", "eq":
		return order == 0, true
	case "neq":
		return order != 0, true
	case "lt":
		return order < 0, true
	case "lte":
		return order <= 0, true
	case "gt":
		return order > 0, true
	case "gte":
		return order >= 0, true
	}
	return false, false
}
