package main

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A search looks for a text of the source in other strings: contains, startswith or endswith with a constant. Strings that
// do not have this text answer alike, so a module can permute them (words.go).
//
// A search may also look through the JSON text of a value. A text of letters, digits, `_` and `-` alone is found within one
// string, number or literal of it: quotes and commas stand between two. So the answer depends on which strings have the
// text, and not on the order of the values. Strings that JSON escapes are an exception that the host knows of.

var searches = setOf("contains", "startswith", "endswith")

// searchedText gives the text that a call searches for.
func searchedText(name string, operands []*ast.Term) (string, bool) {
	if !searches[name] || len(operands) < 2 {
		return "", false
	}
	text, ok := operands[1].Value.(ast.String)
	return string(text), ok && isPlainText(string(text))
}

func isPlainText(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// searchedVariables gives the variables of a body that hold JSON text and are only searched. Each use of such a variable,
// or of another name for it, is the call that makes it, an equality of two of these names, or a search.
func searchedVariables(body ast.Body, uses map[ast.Var]int) map[ast.Var]bool {
	explained, made, names := map[ast.Var]int{}, map[ast.Var]bool{}, [][2]ast.Var{}
	ast.WalkExprs(body, func(expression *ast.Expr) bool {
		terms, ok := expression.Terms.([]*ast.Term)
		if !ok {
			return false
		}
		name, operands := terms[0].Value.String(), terms[1:]
		if name == "json.marshal" && len(operands) == 2 {
			if text, ok := operands[1].Value.(ast.Var); ok {
				explained[text]++
				made[text] = true
			}
		}
		if _, ok := searchedText(name, operands); ok {
			if text, ok := operands[0].Value.(ast.Var); ok {
				explained[text]++
			}
		}
		if name == "eq" {
			left, leftIs := operands[0].Value.(ast.Var)
			right, rightIs := operands[1].Value.(ast.Var)
			if leftIs && rightIs {
				explained[left]++
				explained[right]++
				names = append(names, [2]ast.Var{left, right})
			}
		}
		return false
	})
	isSearched := func(name ast.Var) bool { return explained[name] == uses[name] }
	// One name with another use spoils every other name for the same text.
	found := map[ast.Var]bool{}
	for text := range made {
		reached := []ast.Var{text}
		group := map[ast.Var]bool{text: true}
		all := true
		for len(reached) > 0 {
			one := reached[0]
			reached = reached[1:]
			// An equality of two texts compares them.
			all = all && isSearched(one) && (one == text || !made[one])
			for _, pair := range names {
				for i, name := range pair {
					if name == one && !group[pair[1-i]] {
						group[pair[1-i]] = true
						reached = append(reached, pair[1-i])
					}
				}
			}
		}
		if all {
			for name := range group {
				found[name] = true
			}
		}
	}
	return found
}
