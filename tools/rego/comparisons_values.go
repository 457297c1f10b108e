package main

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// word is a string where the source writes it.
type word struct {
	position
	file string
	text string
}

// value is what a term can be, all at once: strings, parts of the input, and what it is made of.
type value struct {
	words []*word
	parts []partOfIt
	// Members with a name that the source writes; rest: all others, and elements of arrays and sets.
	fields map[string]*value
	rest   *value
	// Names of members; a set has its elements as names too.
	keys *value
	// Open: it can be something else as well, which nothing is known of.
	open bool
}

var nothing = &value{}
var anything = &value{open: true}

func partValue(root string, path []*string, key bool) *value {
	return &value{parts: []partOfIt{{Root: root, Path: path, Key: key}}}
}

func (v *value) structured() bool { return len(v.fields) > 0 || v.rest != nil || v.keys != nil }

func (v *value) has(text string) bool {
	return slices.ContainsFunc(v.words, func(one *word) bool { return one.text == text })
}

// join gives what either can be.
func join(left, right *value) *value {
	switch {
	case left == nil || left == nothing || left == right:
		return orNothing(right)
	case right == nil || right == nothing:
		return left
	}
	joined := &value{
		words: slices.Clone(left.words), parts: slices.Clone(left.parts), open: left.open || right.open,
		rest: joinOptional(left.rest, right.rest), keys: joinOptional(left.keys, right.keys),
	}
	for _, one := range right.words {
		if !slices.Contains(joined.words, one) {
			joined.words = append(joined.words, one)
		}
	}
	for _, part := range right.parts {
		if !slices.ContainsFunc(joined.parts, part.equals) {
			joined.parts = append(joined.parts, part)
		}
	}
	if len(left.fields)+len(right.fields) > 0 {
		joined.fields = map[string]*value{}
		for name, field := range left.fields {
			joined.fields[name] = join(field, right.fields[name])
		}
		for name, field := range right.fields {
			if joined.fields[name] == nil {
				joined.fields[name] = field
			}
		}
	}
	return joined
}

func joinOptional(left, right *value) *value {
	if left == nil && right == nil {
		return nil
	}
	return join(left, right)
}

func orNothing(v *value) *value {
	if v == nil {
		return nothing
	}
	return v
}

// member gives the member of a name; elements all of them; names what they are called.
func (v *value) member(name string) *value {
	found := join(v.fields[name], v.rest)
	for _, part := range v.parts {
		found = join(found, part.below(&name))
	}
	return found.openAs(v)
}

func (v *value) elements() *value {
	found := v.rest
	for _, field := range v.fields {
		found = join(found, field)
	}
	for _, part := range v.parts {
		found = join(found, part.below(nil))
	}
	return orNothing(found).openAs(v)
}

func (v *value) names() *value {
	found := v.keys
	for _, part := range v.parts {
		if part.named() {
			found = join(found, partValue(part.Root, part.Path, true))
		}
	}
	return orNothing(found).openAs(v)
}

// openAs makes what is found in a value as little known as the value.
func (v *value) openAs(whole *value) *value {
	if !whole.open || v.open {
		return v
	}
	return join(v, anything)
}

// below gives the part of a name, or of all. Where the names are strings of routes.yaml, all are the same.
func (part partOfIt) below(name *string) *value {
	if part.Key {
		return anything
	}
	if part.named() {
		name = nil
	}
	return partValue(part.Root, append(slices.Clone(part.Path), name), false)
}

// named: the members have strings of routes.yaml for names, as those of data.regions and data.approved.providers do.
func (part partOfIt) named() bool {
	if part.Key || part.Root != "data" || len(part.Path) == 0 || part.Path[0] == nil {
		return false
	}
	return *part.Path[0] == "regions" && len(part.Path) == 1 || *part.Path[0] == "approved" && len(part.Path) == 2
}

func (part partOfIt) equals(other partOfIt) bool {
	return part.Root == other.Root && part.Key == other.Key &&
		slices.EqualFunc(part.Path, other.Path, func(one, another *string) bool {
			if one == nil || another == nil {
				return one == another
			}
			return *one == *another
		})
}

// wordAt gives the value of a string of the source; the same one for the same place, also where the compiler has copied it.
func (c *comparer) wordAt(term *ast.Term, text ast.String) *value {
	one := word{text: string(text)}
	if term.Location != nil {
		one.position, one.file = at(term.Location), term.Location.File
	}
	known := c.words[one]
	if known == nil {
		known = &value{words: []*word{&one}}
		c.words[one] = known
	}
	return known
}
