import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { SCOPES } from "../../src/canon/identity.ts";
import type { ControlEndpoint } from "../../src/http/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { checkQuery } from "../../src/http/control/query.ts";
import { startTestServer } from "../support/server.ts";
import { refusedOr } from "../support/refusals.ts";

function endpoint(wanted: string): ControlEndpoint {
  const found = ENDPOINTS.filter((row) => row.kind === "control").find(({ id }) => id === wanted);
  if (found === undefined) throw new Error(`no endpoint ${wanted}`);
  return found;
}

describe("the query of a control endpoint", () => {
  it.each([
    [
      "retrievePolicyShadow",
      "example=1",
      "unknown_parameter",
      "example",
      "Unknown query parameter example; give examples",
    ],
    [
      "retrievePolicyShadow",
      "constructor=1",
      "unknown_parameter",
      "constructor",
      "Unknown query parameter constructor; give examples",
    ],
    [
      "retrievePolicyShadow",
      "%3Cb%3E=1",
      "unknown_parameter",
      null,
      "Unknown query parameter; give examples",
    ],
    [
      "retrievePolicyShadow",
      "examples=1&examples=2",
      "invalid_value",
      "examples",
      "examples must be given once",
    ],
    [
      "retrievePolicy",
      "ended=true",
      "unknown_parameter",
      "ended",
      "Unknown query parameter ended; leave it out",
    ],
    ["listPolicies", "ended=yes", "invalid_value", "ended", "ended must be one of true, false"],
    [
      "listDecisions",
      "kind=other",
      "invalid_value",
      "kind",
      "kind must be one of inference, router",
    ],
    ["listDecisions", "route=", "invalid_value", "route", "route must have 1 to 200 characters"],
    [
      "listPolicyTransitions",
      "after=0x7",
      "invalid_value",
      "after",
      "after must be a whole number from 0 to 9007199254740991",
    ],
    [
      "retrievePolicyShadow",
      "examples=101",
      "invalid_value",
      "examples",
      "examples must be a whole number from 0 to 100",
    ],
    [
      "getHealth",
      "workspaces=many",
      "invalid_value",
      "workspaces",
      "workspaces must be one of own, all",
    ],
  ])("%s refuses %j", (id, query, code, param, message) => {
    const refused = refusedOr(() => checkQuery(new URLSearchParams(query), endpoint(id)));
    expect(refused).toMatchObject({ status: 400, code, param, message });
  });

  it.each([
    ["getGovernanceSummary", "group_by=route&group_by=day"],
    ["listModels", "limit=1"],
    ["listPolicies", "ended=true"],
  ])("%s accepts %j", (id, query) => {
    expect(() => checkQuery(new URLSearchParams(query), endpoint(id))).not.toThrow();
  });
});

/** Values that the published schema of a parameter does not allow. */
function forbidden({
  type,
  enum: values,
  format,
  pattern,
  minimum,
  maximum,
  maxLength,
  items,
}: JsonObject): string[] {
  if (items !== undefined || values !== undefined || type === "boolean")
    return ["", "none", "4.6e+16"];
  if (format !== undefined)
    return ["", "2026-02-30T00:00:00Z", "2026-02-28T24:00:00Z", "yesterday"];
  if (type === "integer")
    return ["", "1.5", "1e1", "-1", `${Number(minimum) - 1}`, String(Number(maximum ?? 1e16) + 1)];
  if (pattern !== undefined) return ["", "%"];
  return typeof maxLength === "number" ? ["", "x".repeat(maxLength + 1)] : [];
}

it("a query value that the contract does not allow is refused by name, at every endpoint with the parameter", async () => {
  const tested = await startTestServer();
  const token = await tested.key("demo", SCOPES);
  const answered: unknown[] = [];
  const expected: unknown[] = [];
  for (const { id, kind, method, path, query, optionalQuery = {} } of ENDPOINTS) {
    if (kind !== "control") continue;
    for (const [name, schema] of Object.entries({ ...query, ...optionalQuery })) {
      for (const value of [...forbidden(schema), ...(Object.hasOwn(query, name) ? [null] : [])]) {
        const given = value === null ? "" : `?${new URLSearchParams({ [name]: value }).toString()}`;
        const answer = await fetch(
          `${tested.server.url}${path.replaceAll(/\{\w+\}/g, "one")}${given}`,
          {
            method,
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            ...(method !== "GET" && { body: '{"model":"chat-large"}' }),
          },
        );
        answered.push([id, name, value, answer.status, await answer.json()]);
        const members = {
          param: name,
          [path.startsWith("/api/") ? "error_code" : "code"]: "invalid_value",
        };
        const error = expect.objectContaining(
          path.startsWith("/api/") ? { details: members } : members,
        ) as unknown;
        expected.push([id, name, value, 400, expect.objectContaining({ error })]);
      }
    }
  }
  expect(expected.length).toBeGreaterThan(100);
  expect(answered).toEqual(expected);
});
