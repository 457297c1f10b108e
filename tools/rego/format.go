package main

import (
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
)

type formatRequest struct {
	Modules []source `json:"modules"`
}

type formatResponse struct {
	Errors []failure `json:"errors"`
	// Modules holds the sources that could be read, formatted, in the order of the request.
	Modules []source `json:"modules"`
}

func runFormat(raw []byte) (any, error) {
	var request formatRequest
	if err := json.Unmarshal(raw, &request); err != nil {
		return nil, err
	}
	response := formatResponse{Errors: []failure{}, Modules: []source{}}
	for _, one := range request.Modules {
		text, err := format.SourceWithOpts(one.Path, []byte(one.Text), format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			response.Errors = append(response.Errors, inFile(one.Path, failuresOf(err))...)
			continue
		}
		response.Modules = append(response.Modules, source{Path: one.Path, Text: string(text)})
	}
	return response, nil
}
