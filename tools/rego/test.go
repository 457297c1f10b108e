package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/util/channel"
)

type testRequest struct {
	Modules []source `json:"modules"`
}

type testResponse struct {
	Errors []failure `json:"errors"`
	// Results are sorted by file, line and name.
	Results []testResult `json:"results"`
	// Coverage is a row a file that is not a test, sorted by path.
	Coverage []fileCoverage `json:"coverage"`
}

type testResult struct {
	position
	File    string `json:"file"`
	Package string `json:"package"`
	Name    string `json:"name"`
	// Outcome: pass, fail, error or skip.
	Outcome string `json:"outcome"`
	// Cases names the failing cases of a test over many.
	Cases []string `json:"cases"`
	// Output is what print() said.
	Output string `json:"output"`
	// Error is set where the outcome is error.
	Error *failure `json:"error"`
	// Nanoseconds.
	Duration int64 `json:"duration"`
}

type fileCoverage struct {
	Path         string `json:"path"`
	CoveredLines int    `json:"covered_lines"`
	MissedLines  int    `json:"missed_lines"`
	// Missed holds the lines that no test has reached.
	Missed []int `json:"missed"`
}

func runTest(raw []byte) (any, error) {
	var request testRequest
	if err := json.Unmarshal(raw, &request); err != nil {
		return nil, err
	}
	response := testResponse{Errors: []failure{}, Results: []testResult{}, Coverage: []fileCoverage{}}
	modules, failures := parse(request.Modules)
	if len(failures) > 0 {
		response.Errors = failures
		return response, nil
	}
	coverage := cover.New()
	runner := tester.NewRunner().
		SetCompiler(newCompiler(buildCapabilities()).WithEnablePrintStatements(true)).
		SetModules(modules).
		SetCoverageQueryTracer(coverage).
		SetCoverageRuns(nil).
		SetParallel(1)
	results, err := runner.RunTests(context.Background(), nil)
	if err != nil {
		response.Errors = failuresOf(err)
		return response, nil
	}
	for _, result := range channel.Collect(results) {
		response.Results = append(response.Results, testResultOf(result))
	}
	slices.SortFunc(response.Results, func(left, right testResult) int {
		if order := strings.Compare(left.File, right.File); order != 0 {
			return order
		}
		if left.Row != right.Row {
			return left.Row - right.Row
		}
		return strings.Compare(left.Name, right.Name)
	})
	report := coverage.Report(modules)
	for path, file := range report.Files {
		if !strings.HasSuffix(path, "_test.rego") {
			response.Coverage = append(response.Coverage, coverageOf(path, file))
		}
	}
	slices.SortFunc(response.Coverage, func(left, right fileCoverage) int { return strings.Compare(left.Path, right.Path) })
	return response, nil
}

func testResultOf(result *tester.Result) testResult {
	converted := testResult{
		Package: strings.TrimPrefix(result.Package, "data."), Name: result.Name, Outcome: "pass",
		Cases: []string{}, Output: string(result.Output), Duration: result.Duration.Nanoseconds(),
	}
	if result.Location != nil {
		converted.File, converted.position = result.Location.File, at(result.Location)
	}
	switch {
	case result.Error != nil:
		converted.Outcome = "error"
		converted.Error = &failure{Code: "rego_eval_error", Message: result.Error.Error()}
	case result.Skip:
		converted.Outcome = "skip"
	case result.Fail:
		converted.Outcome = "fail"
	}
	for names, sub := range result.SubResults.Iter {
		if sub.Fail && len(sub.SubResults) == 0 {
			converted.Cases = append(converted.Cases, strings.Join(names, "/"))
		}
	}
	return converted
}

func coverageOf(path string, file *cover.FileReport) fileCoverage {
	coverage := fileCoverage{Path: path, CoveredLines: file.CoveredLines, MissedLines: file.NotCoveredLines, Missed: []int{}}
	for _, span := range file.NotCovered {
		for row := span.Start.Row; row <= span.End.Row; row++ {
			if !slices.Contains(coverage.Missed, row) {
				coverage.Missed = append(coverage.Missed, row)
			}
		}
	}
	slices.Sort(coverage.Missed)
	return coverage
}
