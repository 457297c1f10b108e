import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileConfiguration } from "../../src/compile/compile.ts";
import { testCache } from "../support/cache.ts";

const shipped = readFileSync(new URL("../../routes.yaml", import.meta.url), "utf8");
const text = shipped
  .replace(/labels: \[eu\]\n$/mu, "labels: [eu, sensitive]\n")
  .replace(/^vocabulary:\n/mu, "vocabulary:\n  owners: [group:payments]\n")
  .replace(/^policies:\n(?: .*\n|\n)*/mu, "");
const routes = { path: "routes.yaml", text };

function policy(rules: string): string {
  return `# METADATA
# scope: package
# title: Strings
# custom:
#   signalbox:
#     contract: 1
#     id: strings
#     owners: [group:test]
#     constraints:
#       fine: {effect: gate, reasons: [NOT_FINE]}
#       listed: {effect: filter, reasons: [NOT_LISTED]}
package signalbox.policy.strings

import data.signalbox.lib.names

pass.fine if names.always

pass.listed contains candidate.id if some candidate in input.candidates

${rules}
`;
}

const LIBRARY = `package signalbox.lib.names

always if input.workspace.id

labelled(label) if label in input.workspace.labels

trusted := {"openia-eu", "mistral-eu"}
`;

async function findings(
  rules: string,
  options: { acceptUnknownValues?: boolean } = {},
): Promise<readonly string[]> {
  const library = rules.includes("names.trusted")
    ? LIBRARY
    : LIBRARY.replace("openia-eu", "openai-eu");
  const policies = [
    { path: "policies/lib/names.rego", text: library },
    { path: "policies/strings.rego", text: policy(rules) },
  ];
  const { diagnostics, policies: compiled } = await compileConfiguration(
    { routes, policies },
    { cache: testCache("compile"), ...options },
  );
  expect(compiled === null).toBe(diagnostics.some(({ severity }) => severity === "error"));
  return diagnostics.map(({ code, severity, file, hint }) => {
    const [suggested = ""] = /`[^`]+`(?=\?)/u.exec(hint) ?? [];
    return `${severity} ${code} ${file.slice("policies/".length)} ${suggested}`.trim();
  });
}

describe("values that policies compare with names of routes.yaml", () => {
  it.each([
    ["a label, negated", 'pass.fine if not "senstive" in input.workspace.labels', "`sensitive`"],
    ["a label of a key", 'pass.fine if "senstive" in input.key.labels', "`sensitive`"],
    [
      "a label through a function of a library",
      'pass.fine if not names.labelled("senstive")',
      "`sensitive`",
    ],
    ["a tier", 'pass.fine if input.workspace.tier != "standrad"', "`standard`"],
    ["an environment", 'pass.fine if input.key.environment == "producton"', "`production`"],
    ["an owner", 'pass.fine if not input.key.owner == "group:paymnets"', "`group:payments`"],
    ["a workload, where there are none", 'pass.fine if input.key.workload == "batch"', ""],
    [
      "a region",
      'pass.listed contains c.id if { some c in input.candidates; not c.region in {"eu-wst"} }',
      "`eu-west`",
    ],
    [
      "a wire protocol",
      'pass.fine if input.candidates[_].dialect == "opanai-chat"',
      "`openai-chat`",
    ],
    [
      "a candidate that is listed by its id",
      'pass.listed contains "no-such-endpoint" if input.request.stream',
      "",
    ],
    ["a region group", "pass.fine if not data.regions.euu", "`eu`"],
    ["a workspace in data", "pass.fine if not data.approved.regions.no_such_workspace", ""],
    ["a region in data", 'pass.fine if not "eu-wst" in data.regions.eu', "`eu-west`"],
    [
      "a provider in data",
      'pass.fine if not "openia-eu" in data.approved.providers[input.workspace.id]',
      "`openai-eu`",
    ],
  ])("%s that nothing declares is an error", async (_, rules, suggested) => {
    expect(await findings(rules)).toEqual([
      `error POLICY_WORD_UNKNOWN strings.rego ${suggested}`.trim(),
    ]);
  });

  it("a provider in a set of a library is an error in the library", async () => {
    const rules =
      "pass.listed contains c.id if { some c in input.candidates; c.provider in names.trusted }";
    expect(await findings(rules)).toEqual(["error POLICY_WORD_UNKNOWN lib/names.rego `openai-eu`"]);
  });

  it("a name that routes.yaml declares is no finding, used or not", async () => {
    const rules = [
      'pass.fine if not "sensitive" in input.workspace.labels',
      'pass.fine if names.labelled("eu")',
      'pass.fine if input.key.environment == "other"',
      'pass.fine if input.candidates[_].dialect == "gemini"',
      'pass.fine if input.candidates[_].region == "eu-central"',
    ].join("\n\n");
    expect(await findings(rules)).toEqual([]);
  });

  it("a comment allows a value to be declared later, and only that one", async () => {
    const rules =
      '# signalbox: later eu-north\npass.fine if input.candidates[_].region in {"eu-north", "eu-wst"}';
    expect(await findings(rules)).toEqual(["error POLICY_WORD_UNKNOWN strings.rego `eu-west`"]);
  });

  it("are not checked in the base of a comparison", async () => {
    const rules =
      'pass.fine if not "senstive" in input.workspace.labels\n\npass.fine if "toools" in input.request.needs';
    expect(await findings(rules, { acceptUnknownValues: true })).toEqual([]);
  });
});
