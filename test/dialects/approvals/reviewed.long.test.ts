import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { sdkProbes } from "./sdk-probes.ts";
import { CAPABILITY_NAMES } from "../../../src/canon/capability.ts";
import { INFERENCE_ENDPOINTS } from "../../../src/http/contract/inference-endpoints.ts";
import { mockForTest } from "../../mock/start.ts";
import { startRouter } from "../../support/router.ts";
import { answerTo, passes, routeOf } from "./what-passes.ts";

const SURFACES = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  moderations: "/v1/moderations",
  messages: "/api/v1/messages",
  count_tokens: "/api/v1/messages/count_tokens",
} as const;

const REVIEW =
  "What an official SDK can send past a workspace's approvals has changed. Read each line of the difference: what makes a provider fetch, execute, remember, " +
  "call another model or spend otherwise needs an approval or is refused (src/dialects/kinds.ts). Then write the list: " +
  "npm exec -- vitest run --project long test/dialects/approvals/reviewed.long.test.ts -u";

/**
 * A probe as a request to the route `r`; all members of a responses body may be absent in the SDK,
 * and two must be there.
 */
function requestOf(name: string, value: JsonValue): JsonValue {
  return isJsonObject(value)
    ? { ...(name === "responses" ? { input: "a" } : {}), ...value, model: "r" }
    : value;
}

/** Dated versions of one type, and names of tools that a toolset configures, are one kind. */
const kindOf = (kind: string): string =>
  kind.replaceAll(/_20\d{6}\b/g, "_*").replace(/\.configs\.\w+/, ".configs.*");

/**
 * Codes whose sentence gives the reason: stored state, another model and a region are refused
 * wherever they stand.
 */
const REASONED = / unsupported_(stateful_feature|routing_field|region_field)$/;

const EMPTY_PART =
  "the provider refuses a part that has none of its sources, all of which the SDK declares as optional";
const TOOL_WITHOUT_TYPE = "the SDK declares any object; which approval a tool needs is in its type";
const NOT_STREAMED = "OpenAI refuses it without `stream: true`";

/**
 * Reasons of all other refusals, by field and code. An official member that is missing here is
 * accepted, or refused by name with its reason.
 */
const REASONS: Readonly<Record<string, string>> = {
  "fallback_credit_token invalid_type":
    "a text or null, and refused with any text: credit that the provider keeps",
  "input[].content[].file_data missing_field": EMPTY_PART,
  "input[].content[].image_url missing_field": EMPTY_PART,
  "input[].output[].file_data missing_field": EMPTY_PART,
  "input[].output[].image_url missing_field": EMPTY_PART,
  "stream_options invalid_stream_options": NOT_STREAMED,
  "tool_choice.allowed_tools.tools[].type unknown_tool_type": TOOL_WITHOUT_TYPE,
  "tool_choice.tools[].type unknown_tool_type": TOOL_WITHOUT_TYPE,
};

const all = sdkProbes();

/** Field and code of a refusal with everything approved; `null` where the body passes. */
function refusalOf(surface: string, body: JsonValue): string | null {
  const answer = answerTo(surface, body, CAPABILITY_NAMES);
  if (!("code" in answer)) return answer.decision.outcome === "deny" ? "denied" : null;
  return `${answer.param?.replaceAll(/\[\d+\]/g, "[]")} ${answer.code}`;
}

describe("every member of the official SDKs is in a reviewed list of those that pass the approvals or are refused with all of them:", () => {
  it.each(Object.entries(SURFACES))("%s", async (name, surface) => {
    const probes = all.get(name) ?? [];
    expect(probes.length).toBeGreaterThan(8);
    const unapproved = new Set<string>();
    const withTools = new Set<string>();
    const refused = new Set<string>();
    for (const { kind, value } of probes) {
      // The SDKs list their vendors' models beside any text.
      if (kind.includes("model=")) continue;
      const body = requestOf(name, value);
      const refusal = refusalOf(surface, body);
      if (refusal !== null) refused.add(refusal);
      else if (kind.endsWith("=null")) continue;
      else if (passes(surface, body, [])) unapproved.add(kindOf(kind));
      else if (passes(surface, body, ["tools"])) withTools.add(kindOf(kind));
    }
    expect(
      [...refused].filter((one) => !REASONED.test(one) && !Object.hasOwn(REASONS, one)),
    ).toEqual([]);
    const listed = [
      "# Passes where nothing is approved",
      ...[...unapproved].toSorted(),
      "# Passes where `tools` alone is approved",
      ...[...withTools.difference(unapproved)].toSorted(),
      "# Refused where everything is approved",
      ...[...refused].toSorted(),
    ];
    await expect(`${listed.join("\n")}\n`, REVIEW).toMatchFileSnapshot(`reviewed/${name}.txt`);
  });
});

/**
 * Surfaces that relay to a native endpoint, with the flags of the clouds that host the same
 * protocol.
 */
const OVER_SOCKETS: readonly (readonly [keyof typeof SURFACES, readonly string[]])[] = [
  ["chat", []],
  ["completions", []],
  ["responses", []],
  ["messages", []],
  ["messages", ["bedrock_invoke"]],
  ["messages", ["vertex_raw_predict"]],
];
const SAMPLE = 40;

it.each(OVER_SOCKETS)(
  "a real server calls the provider of %s %j for exactly the probes that pass",
  async (name, flags) => {
    const path = SURFACES[name];
    const surface = INFERENCE_ENDPOINTS.find((row) => row.path === path)?.surface;
    if (surface === undefined) throw new Error(`no surface of ${path}`);
    const mock = await mockForTest();
    const baseUrl = name === "messages" ? mock.url : `${mock.url}/v1`;
    const router = await startRouter({ table: routeOf(surface, [], "reject", { baseUrl, flags }) });
    const byKind = new Map((all.get(name) ?? []).map((probe) => [kindOf(probe.kind), probe]));
    const probes = [...byKind.values()].filter(({ kind }) => !kind.includes("model="));
    const stride = Math.ceil(probes.length / SAMPLE);
    const called: string[] = [];
    const expected: string[] = [];
    for (const { kind, value } of probes.filter((_probe, index) => index % stride === 0)) {
      const body = requestOf(name, value);
      const before = mock.requests.length;
      const response = await fetch(`${router.url}${path}`, {
        method: "POST",
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      if (mock.requests.length > before) called.push(kind);
      if (passes(path, body, [])) expected.push(kind);
    }
    expect(expected.length).toBeGreaterThan(4);
    expect(called).toEqual(expected);
  },
);
