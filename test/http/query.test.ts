import { describe, expect, it } from "vitest";
import type { ControlEndpoint } from "../../src/http/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { SHADOW_QUERY } from "../../src/http/control/policy-shadow.ts";
import { checkQuery, readCount } from "../../src/http/control/query.ts";

function endpoint(wanted: string): ControlEndpoint {
  const found = ENDPOINTS.filter((row) => row.kind === "control").find(({ id }) => id === wanted);
  if (found === undefined) throw new Error(`no endpoint ${wanted}`);
  return found;
}

describe("the query of a control endpoint", () => {
  it.each([
    [
      "retrievePolicyShadow",
      "witness=1",
      "unknown_parameter",
      "witness",
      "Unknown query parameter witness; give witnesses",
    ],
    [
      "retrievePolicyShadow",
      "constructor=1",
      "unknown_parameter",
      "constructor",
      "Unknown query parameter constructor; give witnesses",
    ],
    ["retrievePolicyShadow", "%3Cb%3E=1", "unknown_parameter", null, "Unknown query parameter; give witnesses"],
    ["retrievePolicyShadow", "witnesses=1&witnesses=2", "invalid_value", "witnesses", "witnesses must be given once"],
    ["retrievePolicy", "ended=true", "unknown_parameter", "ended", "Unknown query parameter ended; leave it out"],
    ["listPolicies", "ended=yes", "invalid_value", "ended", "ended must be one of true, false"],
    ["listDecisions", "kind=other", "invalid_value", "kind", "kind must be one of inference, router"],
    ["listDecisions", "route=", "invalid_value", "route", "route must have 1 to 200 characters"],
    ["getHealth", "workspaces=many", "invalid_value", "workspaces", "workspaces must be one of own, all"],
  ])("%s refuses %j", (id, query, code, param, message) => {
    const refused = checkQuery(new URLSearchParams(query), endpoint(id));
    expect(refused).toMatchObject({ status: 400, code, param, message });
  });

  it.each([
    ["getGovernanceSummary", "group_by=route&group_by=day"],
    ["listModels", "limit=1"],
    ["listPolicies", "ended=true"],
  ])("%s takes %j", (id, query) => {
    expect(checkQuery(new URLSearchParams(query), endpoint(id))).toBeNull();
  });
});

describe("a whole number of a query", () => {
  it.each([
    ["", 20],
    ["witnesses=0", 0],
    ["witnesses=100", 100],
    ["witnesses=007", 7],
  ])("%j", (query, witnesses) => {
    expect(readCount(new URLSearchParams(query), "witnesses", SHADOW_QUERY)).toBe(witnesses);
  });

  it.each(["101", "", "-1", "1.5", "0x7", "1e1"])("refuses %j", (value) => {
    expect(readCount(new URLSearchParams({ witnesses: value }), "witnesses", SHADOW_QUERY)).toMatchObject({
      status: 400,
      code: "invalid_value",
      param: "witnesses",
      message: "witnesses must be a whole number from 0 to 100",
    });
  });
});
