package main

import (
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// What must be known of OPA's types. An array of fixed elements (a literal) is a tuple: its order is the source's. Any other
// array is a list: its order is the host's or an iteration's, so it may follow the order of strings.

// approvedType and regionsType are what the host gives as data: strings and numbers in lists, by name.
var (
	wordList     = types.NewArray(nil, types.NewAny(types.S, types.N))
	regionsType  = types.NewObject(nil, types.NewDynamicProperty(types.S, wordList))
	approvedType = types.NewObject([]*types.StaticProperty{
		types.NewStaticProperty("regions", regionsType),
		types.NewStaticProperty("providers", regionsType),
		types.NewStaticProperty("routes", regionsType),
		types.NewStaticProperty("capabilities", regionsType),
		types.NewStaticProperty("dimensions", regionsType),
	}, nil)
)

// alternatives spreads a union out. Open: the type may be anything at all.
func alternatives(shape types.Type) (all []types.Type, open bool) {
	switch shape := shape.(type) {
	case nil:
		return nil, false
	case types.Any:
		if len(shape) == 0 {
			return nil, true
		}
		for _, one := range shape {
			inner, innerOpen := alternatives(one)
			all, open = append(all, inner...), open || innerOpen
		}
		return all, open
	case *types.NamedType:
		return alternatives(shape.Type)
	case *types.Recursive, *types.Function:
		return nil, true
	default:
		return []types.Type{shape}, false
	}
}

// mayBe reports whether a value of the type can be one that the test accepts; what is unknown can.
func mayBe(shape types.Type, accepts func(types.Type) bool) bool {
	all, open := alternatives(shape)
	if open {
		return true
	}
	for _, one := range all {
		if accepts(one) {
			return true
		}
	}
	return false
}

func isText(shape types.Type) bool   { _, ok := shape.(types.String); return ok }
func isNumber(shape types.Type) bool { _, ok := shape.(types.Number); return ok }

func isObject(shape types.Type) bool { _, ok := shape.(*types.Object); return ok }

func isList(shape types.Type) bool {
	array, ok := shape.(*types.Array)
	return ok && array.Dynamic() != nil
}

// isOrderedByWords: an order of such values, or of one with anything, may be an order of strings.
func isOrderedByWords(shape types.Type) bool {
	switch shape.(type) {
	case types.Number, types.Boolean, types.Null:
		return false
	}
	return true
}

// arrayless: no array anywhere in it. Equality with anything is then decided without looking at an order.
func arrayless(shape types.Type) bool {
	return !mayBe(shape, func(one types.Type) bool {
		switch one := one.(type) {
		case *types.Array:
			return true
		case *types.Set:
			return !arrayless(one.Of())
		case *types.Object:
			return !arrayless(types.Keys(one)) || !arrayless(types.Values(one))
		}
		return false
	})
}

// listless: no list anywhere in it. Sets and keys of objects never hold one in a module that is not reported.
func listless(shape types.Type) bool {
	return !mayBe(shape, func(one types.Type) bool {
		switch one := one.(type) {
		case *types.Array:
			return one.Dynamic() != nil || !listless(types.Values(one))
		case *types.Object:
			return !listless(types.Values(one))
		}
		return false
	})
}

// equatable reports whether equality of the two follows from equality of strings, whatever the order of lists.
func equatable(left, right types.Type) bool {
	return arrayless(left) || arrayless(right) || (listless(left) && listless(right))
}

// known makes what inference could not determine anything at all.
func known(shape types.Type) types.Type {
	if shape == nil {
		return types.A
	}
	return shape
}

// member is the type below a constant; values the one below anything.
func member(shape types.Type, key ast.Value) types.Type {
	var name any
	switch key := key.(type) {
	case ast.String:
		name = string(key)
	case ast.Number:
		name = json.Number(key)
	default:
		return values(shape)
	}
	all, open := alternatives(shape)
	if open {
		return types.A
	}
	var found types.Type
	for _, one := range all {
		found = types.Or(found, types.Select(one, name))
	}
	return known(found)
}

func values(shape types.Type) types.Type { return known(types.Values(shape)) }

func keys(shape types.Type) types.Type { return known(types.Keys(shape)) }

// memberNames collects the fixed names of members of an object and of all objects in it. Open: there may be any others.
func memberNames(shape types.Type, found map[string]bool) (open bool) {
	all, open := alternatives(shape)
	for _, one := range all {
		object, isObject := one.(*types.Object)
		if isObject {
			for _, property := range object.StaticProperties() {
				if name, ok := property.Key.(string); ok {
					found[name] = true
				}
			}
		}
		open = memberNames(types.Values(one), found) || open
	}
	return open
}
