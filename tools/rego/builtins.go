package main

import "github.com/open-policy-agent/opa/v1/ast"

// The built-in functions that OPA's WASM target implements itself, without those that are deprecated, that make text
// (sprintf, template strings) or that make an answer's cost independent of its input's size (numbers.range). Every one
// is a pure function. The list is closed: a built-in that a later OPA adds is refused until somebody has looked at it.
var allowedBuiltins = setOf(
	// comparison and unification
	"eq", "assign", "equal", "neq", "lt", "lte", "gt", "gte",
	// membership (`x in xs`) and print, which OPA erases where it is not switched on
	"internal.member_2", "internal.member_3", "print", "internal.print",
	// numbers
	"abs", "ceil", "div", "floor", "minus", "mul", "plus", "rem", "round", "to_number", "format_int",
	"bits.and", "bits.lsh", "bits.negate", "bits.or", "bits.rsh", "bits.xor",
	// aggregates
	"count", "max", "min", "product", "sort", "sum",
	// arrays, sets, objects
	"array.concat", "array.flatten", "array.reverse", "array.slice",
	"and", "intersection", "or", "union",
	"json.filter", "json.remove", "object.filter", "object.get", "object.keys", "object.remove", "object.union",
	"object.union_n", "graph.reachable", "walk",
	// types
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name",
	// text
	"concat", "contains", "endswith", "indexof", "lower", "replace", "split", "startswith", "strings.replace_n",
	"strings.reverse", "substring", "trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix", "upper",
	"glob.match", "regex.find_all_string_submatch_n", "regex.is_valid", "regex.match",
	"base64.decode", "base64.encode", "base64.is_valid", "base64url.decode", "base64url.encode",
	"json.is_valid", "json.marshal", "json.unmarshal",
	"net.cidr_contains", "net.cidr_intersects",
)

// allBuiltins is everything this version of OPA knows, to distinguish a refused built-in from a misspelt one.
var allBuiltins = byName(ast.CapabilitiesForThisVersion().Builtins)

// capabilities for reading and checking: every built-in, so that a refused one is reported as that and not as undefined;
// no template strings, which make free text.
func checkCapabilities() *ast.Capabilities {
	capabilities := ast.CapabilitiesForThisVersion()
	features := capabilities.Features[:0]
	for _, feature := range capabilities.Features {
		if feature != ast.FeatureTemplateStrings {
			features = append(features, feature)
		}
	}
	capabilities.Features = features
	// An empty list, unlike nil, forbids OPA to fetch what a JSON Schema refers to.
	capabilities.AllowNet = []string{}
	return capabilities
}

// capabilities for compiling and running: the allowed built-ins alone, whatever was checked before.
func buildCapabilities() *ast.Capabilities {
	capabilities := checkCapabilities()
	builtins := capabilities.Builtins[:0]
	for _, builtin := range capabilities.Builtins {
		// OPA's test runner puts calls of internal.test_case into test rules.
		if allowedBuiltins[builtin.Name] || builtin.Name == "internal.test_case" {
			builtins = append(builtins, builtin)
		}
	}
	capabilities.Builtins = builtins
	return capabilities
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func byName(builtins []*ast.Builtin) map[string]*ast.Builtin {
	named := make(map[string]*ast.Builtin, len(builtins))
	for _, builtin := range builtins {
		named[builtin.Name] = builtin
	}
	return named
}
