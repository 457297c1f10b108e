import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { EXAMPLES } from "../../src/http/contract/openapi.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { bodyOf } from "../../src/http/control/control-call.ts";
import type { CREATE_KEY_SCHEMA } from "../../src/http/contract/key-schemas.ts";
import { readNewKey, readRotation } from "../../src/http/control/service-keys/key-page.ts";
import { NO_HEADERS } from "../dialects/laws/target.ts";
import { requestFaults } from "./contract.ts";
import { refusedOr } from "../support/refusals.ts";

/**
 * What the server answers to a body before it looks at routes, policies or what is stored; `null`
 * where it goes on.
 */
function refusalOf(
  id: string,
  body: JsonObject,
): { readonly code: string; readonly param: string | null } | null {
  const endpoint = ENDPOINTS.find((row) => row.id === id);
  if (endpoint === undefined || endpoint.body === null) throw new Error(`no body of ${id}`);
  const invalid = bodyValidator(endpoint.body)(body);
  if (invalid !== null) return invalid;
  if (endpoint.kind === "inference") {
    const request = endpoint.surface.parse(body, 100, NO_HEADERS);
    return "code" in request ? request : endpoint.surface.refuseUnknown(body, "reject");
  }
  const read = refusedOr(() =>
    id === "createKey"
      ? readNewKey(
          bodyOf<typeof CREATE_KEY_SCHEMA>({ body: { value: body, bytes: 0 } }),
          "w",
          "k",
          0,
        )
      : readRotation(body, "k", 0),
  );
  return "code" in read ? read : null;
}

const STATEFUL = "unsupported_stateful_feature";

/**
 * Members that make a refused body of the endpoint's example, with the code and the `param` that
 * the server answers.
 */
const REFUSED: readonly (readonly [string, JsonObject, string, string])[] = [
  ["createChatCompletion", { store: true }, STATEFUL, "store"],
  ["createChatCompletion", { background: true }, STATEFUL, "background"],
  ["createChatCompletion", { previous_response_id: "resp_1" }, STATEFUL, "previous_response_id"],
  [
    "createChatCompletion",
    { prompt_cache_options: { comparison_response_id: "r" } },
    STATEFUL,
    "prompt_cache_options.comparison_response_id",
  ],
  [
    "createChatCompletion",
    { stream: false, stream_options: {} },
    "invalid_stream_options",
    "stream_options",
  ],
  ["createCompletion", { stream_options: {} }, "invalid_stream_options", "stream_options"],
  ["createCompletion", { store: true }, STATEFUL, "store"],
  ["createResponse", { store: true }, STATEFUL, "store"],
  ["createResponse", { background: true }, STATEFUL, "background"],
  ["createResponse", { background_options: { mode: "any" } }, STATEFUL, "background_options"],
  ["createResponse", { previous_response_id: "resp_1" }, STATEFUL, "previous_response_id"],
  ["createResponse", { conversation: "conv_1" }, STATEFUL, "conversation"],
  ["createResponse", { prompt: { id: "p" } }, STATEFUL, "prompt"],
  [
    "createResponse",
    { context_management: [{ type: "compaction" }] },
    STATEFUL,
    "context_management",
  ],
  ["createMessage", { inference_geo: "us" }, "unsupported_region_field", "inference_geo"],
  ["createMessage", { fallbacks: ["m"] }, "unsupported_routing_field", "fallbacks"],
  [
    "createMessage",
    { billing_policy: { type: "billing_policy" } },
    "unsupported_routing_field",
    "billing_policy",
  ],
  ["createMessage", { fallback_credit_token: "t" }, STATEFUL, "fallback_credit_token"],
  [
    "createMessage",
    { diagnostics: { previous_message_id: "m" } },
    STATEFUL,
    "diagnostics.previous_message_id",
  ],
  ["createEmbeddings", { input: "" }, "empty_input", "input"],
  ["createEmbeddings", { input: ["a", ""] }, "empty_input", "input[1]"],
  ["createRerank", { query: "" }, "empty_input", "query"],
  ["createRerank", { max_chunks_per_doc: 1 }, "unsupported_parameter", "max_chunks_per_doc"],
  ["createRerank", { rank_fields: ["title"] }, "unsupported_value", "rank_fields"],
  ["createRerank", { relevant_spans: {} }, "unsupported_parameter", "relevant_spans"],
  ["createKey", { expires_in: undefined, expires_at: undefined }, "missing_field", "expires_at"],
  [
    "createKey",
    { expires_in: 60, expires_at: "2027-01-31T00:00:00Z" },
    "invalid_value",
    "expires_in",
  ],
  [
    "rotateKey",
    { expires_in: 60, expires_at: "2027-01-31T00:00:00Z" },
    "invalid_value",
    "expires_in",
  ],
  ...ENDPOINTS.filter(({ kind, body }) => kind === "inference" && body !== null).map(
    ({ id }) => [id, { novel_member: 1 }, "unknown_field", "novel_member"] as const,
  ),
];

describe("the contract's schema refuses bodies that the server always refuses, and the server's answer is unchanged:", () => {
  it.each(REFUSED)("%s %o: %s", (id, members, code, param) => {
    const endpoint = ENDPOINTS.find((row) => row.id === id);
    const [example = {}] = Object.values(
      EXAMPLES[id === "createRerankV2" ? "createRerank" : id]?.requests ?? {},
    );
    if (endpoint === undefined) throw new Error(`no endpoint ${id}`);
    const good: JsonObject = JSON.parse(JSON.stringify(example));
    expect(refusalOf(id, good)).toBeNull();
    expect(requestFaults(endpoint, good)).toEqual([]);
    const body: JsonObject = JSON.parse(JSON.stringify({ ...example, ...members }));
    expect(refusalOf(id, body)).toMatchObject({ code, param });
    expect(requestFaults(endpoint, body)).not.toEqual([]);
  });
});
