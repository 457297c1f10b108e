package main

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

type position struct {
	Row int `json:"row"`
	Col int `json:"col"`
}

type moduleFacts struct {
	Path        string            `json:"path"`
	Package     []string          `json:"package"`
	PackageAt   position          `json:"package_at"`
	Annotations []annotationFacts `json:"annotations"`
	Rules       []ruleFacts       `json:"rules"`
	References  []referenceFacts  `json:"references"`
	// Builtins lists the calls of built-ins that are not allowed.
	Builtins []builtinFacts `json:"builtins"`
	// Withs lists where `with` replaces input, data or functions.
	Withs []position `json:"withs"`
	// Strings holds every string that the module writes or could get from names of members; sorted.
	Strings []string `json:"strings"`
	// Inspects says by what the module sees more of strings than whether they are equal; sorted. See words.go.
	Inspects []string `json:"inspects"`
	// Searches holds the texts that the module looks for in other strings; sorted. See searches.go.
	Searches []string `json:"searches"`
	// Reads holds what a policy depends on with everything that it calls; null for libraries and tests. See reads.go.
	Reads []string `json:"reads"`
	// Relates says whether it may compare two strings of input and data with each other.
	Relates bool `json:"relates"`
	// Hours holds the numbers that it compares hours of input.local_time with, sorted; null where it uses one in another way.
	Hours []float64 `json:"hours"`
	// Comparisons lists the strings that are compared with a part of input or data; see comparisons.go.
	Comparisons []comparisonFacts `json:"comparisons"`
	// Directives are the comments `# signalbox: …`, with the text after the colon.
	Directives []directiveFacts `json:"directives"`
}

type directiveFacts struct {
	position
	Text string `json:"text"`
}

// annotationFacts is a METADATA block. Row is the line of the word METADATA; EndRow its last line.
type annotationFacts struct {
	position
	EndRow int            `json:"end_row"`
	Scope  string         `json:"scope"`
	Title  string         `json:"title"`
	Custom map[string]any `json:"custom"`
}

// ruleFacts is a rule with its else branches.
type ruleFacts struct {
	position
	// Path holds the strings of the head (`pass.region_approved`); null for what is known at run time only.
	Path []*string `json:"path"`
	// Kind: value, set (`contains`) or function.
	Kind    string `json:"kind"`
	Default bool   `json:"default"`
	// Results holds what the branches give whose body can hold at all. Empty: the rule is never true.
	Results []resultFacts `json:"results"`
}

type resultFacts struct {
	position
	// Constant: the value is written in the source.
	Constant bool `json:"constant"`
	Value    any  `json:"value"`
}

// referenceFacts is something that the module names outside of itself: `input.…` or `data.…`.
type referenceFacts struct {
	position
	Root string    `json:"root"`
	Path []*string `json:"path"`
}

type builtinFacts struct {
	position
	Name             string `json:"name"`
	Nondeterministic bool   `json:"nondeterministic"`
}

// factsOf reads heads and annotations from the module as written, references and calls from its resolved form.
func factsOf(path string, module, resolved *ast.Module, words wordFacts) moduleFacts {
	facts := moduleFacts{
		Path: path, Package: packageOf(module), PackageAt: at(module.Package.Location),
		Annotations: []annotationFacts{}, Rules: []ruleFacts{}, References: []referenceFacts{},
		Builtins: []builtinFacts{}, Withs: []position{}, Strings: words.strings, Inspects: words.inspects, Searches: words.searches, Reads: words.reads.paths,
		Relates: words.reads.relates, Hours: words.reads.hours,
		Comparisons: words.comparisons, Directives: directivesOf(module),
	}
	for _, annotation := range module.Annotations {
		facts.Annotations = append(facts.Annotations, annotationFacts{
			position: at(annotation.Location), EndRow: annotation.EndLoc().Row,
			Scope: annotation.Scope, Title: annotation.Title, Custom: annotation.Custom,
		})
	}
	for _, rule := range module.Rules {
		facts.Rules = append(facts.Rules, factsOfRule(rule))
	}
	if resolved == nil {
		resolved = module
	}
	facts.addReferences(resolved)
	return facts
}

// directivesOf omits the member `signalbox:` of a METADATA block, which has nothing after its colon.
func directivesOf(module *ast.Module) []directiveFacts {
	found := []directiveFacts{}
	for _, comment := range module.Comments {
		text, ok := strings.CutPrefix(strings.TrimSpace(string(comment.Text)), "signalbox:")
		if text = strings.TrimSpace(text); ok && text != "" {
			found = append(found, directiveFacts{at(comment.Location), text})
		}
	}
	return found
}

func (facts *moduleFacts) addReferences(module *ast.Module) {
	for _, rule := range module.Rules {
		ast.WalkTerms(rule, func(term *ast.Term) bool {
			reference, ok := term.Value.(ast.Ref)
			if !ok {
				return false
			}
			if root, ok := reference[0].Value.(ast.Var); ok && (root == "input" || root == "data") {
				facts.References = append(facts.References, referenceFacts{at(term.Location), string(root), words(reference[1:])})
			}
			facts.addBuiltin(reference, term.Location)
			return false
		})
		ast.WalkWiths(rule, func(with *ast.With) bool {
			facts.Withs = append(facts.Withs, at(with.Location))
			return false
		})
	}
}

// addBuiltin looks at every dotted name, called or not: a refused built-in as the target of `with` counts as well.
func (facts *moduleFacts) addBuiltin(reference ast.Ref, location *ast.Location) {
	builtin, known := allBuiltins[reference.String()]
	if known && !allowedBuiltins[builtin.Name] {
		facts.Builtins = append(facts.Builtins, builtinFacts{at(location), builtin.Name, builtin.Nondeterministic})
	}
}

func packageOf(module *ast.Module) []string {
	names := []string{}
	for _, term := range module.Package.Path[1:] {
		if name, ok := term.Value.(ast.String); ok {
			names = append(names, string(name))
		}
	}
	return names
}

func words(terms []*ast.Term) []*string {
	path := make([]*string, 0, len(terms))
	for _, term := range terms {
		var word *string
		if text, ok := term.Value.(ast.String); ok {
			value := string(text)
			word = &value
		}
		path = append(path, word)
	}
	return path
}

func at(location *ast.Location) position {
	if location == nil {
		return position{}
	}
	return position{location.Row, location.Col}
}
