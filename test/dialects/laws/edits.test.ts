import { describe, expect, it } from "vitest";
import { DROPPED_FIELDS, EDITS, editsIn, type Edit } from "../../../src/canon/generate/edit.ts";
import { canonicalJson, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { INFERENCE_ENDPOINTS } from "../../../src/http/contract/inference-endpoints.ts";
import { EXAMPLES } from "../../../src/http/contract/openapi.ts";
import { GENERATE_DIALECTS, isGenerateDialect } from "../../../src/dialects/table.ts";
import type { DialectFacts } from "../../../src/dialects/dialect.ts";
import { endpoint, provider } from "../../support/table.ts";
import { NO_EDITS, NO_HEADERS } from "./target.ts";

/**
 * Members of requests that a flag or a rule of a relay acts on, with values that the surfaces'
 * schemas take.
 */
const MEMBERS: Readonly<Record<string, JsonObject>> = {
  "openai-chat": {
    user: "u",
    metadata: { a: "b" },
    safety_identifier: "s",
    store: null,
    seed: null,
    logit_bias: null,
    logprobs: null,
    top_logprobs: null,
    frequency_penalty: null,
    presence_penalty: null,
    parallel_tool_calls: true,
    verbosity: null,
    service_tier: "auto",
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    max_tokens: 500,
    max_completion_tokens: 500,
    reasoning_effort: "low",
    stream_options: null,
    tool_choice: "auto",
    tools: [{ type: "function", function: { name: "f", strict: false } }],
    messages: [
      { role: "developer", content: [{ type: "text", text: "Be brief." }] },
      { role: "user", name: "eve", content: "hi" },
      { role: "assistant", content: "a", reasoning_content: "r", tool_calls: [] },
      { role: "user", content: [{ type: "text", text: "one" }] },
    ],
  },
  "openai-completions": {
    user: "u",
    seed: null,
    logit_bias: null,
    max_tokens: 500,
    stream_options: null,
  },
  "openai-responses": {
    user: "u",
    metadata: { a: "b" },
    safety_identifier: "s",
    client_metadata: { a: "b" },
    store: null,
    max_output_tokens: 500,
    include: ["reasoning.encrypted_content"],
    response_format: { type: "text" },
  },
  "anthropic-messages": {
    metadata: { user_id: "u" },
    user_profile_id: "p",
    max_tokens: 500,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "thinking", thinking: "t", signature: "unsigned" }] },
      { role: "user", content: "go on" },
    ],
  },
};

const surfaces = INFERENCE_ENDPOINTS.flatMap(({ id, operation, surface }) => {
  const [example] = Object.values(EXAMPLES[id]?.requests ?? {});
  if (surface.kind !== "generate" || example === undefined || !isGenerateDialect(surface.dialect))
    return [];
  const facts: DialectFacts = GENERATE_DIALECTS[surface.dialect];
  const flags = [[], ...Object.keys(facts.flags).map((flag) => [flag])];
  return flags.map((flagged) => ({ operation, surface, example, flags: flagged }));
});

/**
 * Members whose value is not the caller's; a member that the provider is sent as `undefined` is not
 * sent.
 */
function changedMembers(before: JsonObject, after: JsonObject): readonly string[] {
  const shown = (value: JsonValue | undefined): string =>
    value === undefined ? "" : canonicalJson(value);
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => shown(before[name]) !== shown(after[name]),
  );
}

/** Values that explain the change of a member whatever its name is. */
const GENERAL: readonly Edit[] = ["member_rewritten", "signatures_restored"];
const BY_MEMBER: Readonly<Record<string, Edit>> = {
  model: "model_replaced",
  store: "store_false_sent",
  stream_options: "usage_requested",
  max_tokens: "output_limit_set",
  max_completion_tokens: "output_limit_set",
  max_output_tokens: "output_limit_set",
};

describe("every change of a relayed request is named:", () => {
  it.each(surfaces)("$operation with the flags $flags", ({ surface, example, flags }) => {
    for (const [name, value] of [
      ["", null] as const,
      ...Object.entries(MEMBERS[surface.dialect] ?? {}),
    ]) {
      for (const cap of [null, 100]) {
        for (const stream of [false, true]) {
          const body = {
            ...example,
            ...(name !== "" && { [name]: value }),
            ...(stream && { stream }),
          };
          const request = surface.parse(body, 100, NO_HEADERS);
          if ("code" in request) {
            // Counting has no output limit and no identity but one.
            continue;
          }
          const { dialect } = surface;
          const edited = surface.relay.edit(
            request,
            endpoint("a", { dialect }),
            provider("p", { dialect, flags }),
            "reject",
            { ...NO_EDITS, maxOutputTokens: cap },
          );
          const named: readonly string[] = editsIn(edited.edits);
          const explained = (member: string): boolean =>
            // The router's own member says how to route; it is not part of what a provider gets.
            member === "provider" ||
            edited.stripped.includes(member) ||
            [...(edited.dropped ?? []), ...(request.dropped ?? [])].length > 0 ||
            (member === "messages" && edited.stripped.includes("thinking")) ||
            named.includes(BY_MEMBER[member] ?? "") ||
            GENERAL.some((edit) => named.includes(edit));
          const sent: JsonObject = edited.body;
          const silent = changedMembers(body, sent).filter((member) => !explained(member));
          expect(silent, `${name} ${String(cap)} ${named.join()}`).toEqual([]);
          // And nothing is named that did not happen.
          const idle = Object.entries(BY_MEMBER).filter(
            ([member, edit]) =>
              named.includes(edit) &&
              !changedMembers(body, sent).some((one) => BY_MEMBER[one] === BY_MEMBER[member]),
          );
          expect(idle).toEqual([]);
        }
      }
    }
  });

  it("a value of edits is never the name of a dropped field", () => {
    expect(Object.keys(EDITS).filter((name) => Object.hasOwn(DROPPED_FIELDS, name))).toEqual([]);
  });
});
