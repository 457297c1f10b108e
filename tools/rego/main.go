// Command rego is the part of OPA that Signalbox needs: it checks, compiles, tests and formats Rego.
//
// It is built for wasip1/wasm and run inside Node (src/policy/toolchain/), so that nobody has to install OPA or Go.
// One subcommand a run: the request is JSON on standard input, the response JSON on standard output. It opens no file,
// no socket and no environment variable; sources come in with the request.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/open-policy-agent/opa/v1/ast"
)

// failure is one finding about a source. Row and col count from 1; 0 where OPA gives no position.
type failure struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
	File    string   `json:"file"`
	Row     int      `json:"row"`
	Col     int      `json:"col"`
}

// source is a module as the host hands it over. The path is for messages, and for finding out which modules are tests.
type source struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// subcommands take the request and give the response; an error means that the request itself cannot be read.
var subcommands = map[string]func(request []byte) (any, error){
	"build": runBuild,
	"check": runCheck,
	"fmt":   runFormat,
	"test":  runTest,
}

func main() {
	if len(os.Args) != 2 || subcommands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: rego build|check|fmt|test < request.json > response.json")
		os.Exit(2)
	}
	request, err := io.ReadAll(os.Stdin)
	if err == nil {
		var response any
		if response, err = subcommands[os.Args[1]](request); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(response)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// failuresOf spreads OPA's error lists out, so that the host sees every finding with its own position.
func failuresOf(err error) []failure {
	switch err := err.(type) {
	case nil:
		return nil
	case ast.Errors:
		failures := make([]failure, 0, len(err))
		for _, one := range err {
			failures = append(failures, failuresOf(one)...)
		}
		return failures
	case *ast.Error:
		found := failure{Code: err.Code, Message: err.Message}
		if err.Location != nil {
			found.File, found.Row, found.Col = err.Location.File, err.Location.Row, err.Location.Col
		}
		if err.Details != nil {
			found.Details = err.Details.Lines()
		}
		return []failure{found}
	default:
		return []failure{{Code: "rego_error", Message: err.Error()}}
	}
}
