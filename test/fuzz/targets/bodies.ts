import { ok } from "node:assert/strict";
import fc from "fast-check";
import { isJsonObject } from "../../../src/canon/json.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import { INFERENCE_ENDPOINTS } from "../../../src/http/contract/inference-endpoints.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { NO_EDITS, NO_HEADERS } from "../../dialects/laws/target.ts";
import { mutated } from "../mutations.ts";
import type { FuzzTarget } from "../target.ts";

const CANARY = "sk-Zm9vYmFyYmF6cXV4MTIzNDU2";
const turn = { role: "user", content: [{ type: "text", text: CANARY }] };
const tool = {
  type: "function",
  function: { name: "f", parameters: { type: "object", properties: { a: { type: "string" } } } },
};

/** Bodies with much of what the surfaces know in them; each surface gets all of them. */
const BODIES = [
  {
    model: "r",
    messages: [{ role: "system", content: CANARY }, turn],
    tools: [tool],
    tool_choice: "auto",
    stream: true,
    temperature: 1,
  },
  {
    model: "r",
    max_tokens: 10,
    system: [{ type: "text", text: CANARY, cache_control: { type: "ephemeral" } }],
    messages: [
      turn,
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { a: 1 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: CANARY }] },
    ],
    tools: [{ name: "f", input_schema: { type: "object" } }],
    thinking: { type: "enabled", budget_tokens: 1_024 },
  },
  { model: "r", prompt: CANARY, max_tokens: 5, n: 1, logprobs: 2, stop: ["a"] },
  {
    model: "r",
    input: [
      { role: "user", content: [{ type: "input_text", text: CANARY }] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: CANARY },
    ],
    text: { format: { type: "json_schema", name: "s", schema: { type: "object" } } },
    reasoning: { effort: "low" },
  },
  { model: "r", input: [CANARY, "b"], dimensions: 3, encoding_format: "base64" },
  { model: "r", query: CANARY, documents: ["a", { text: CANARY }], top_n: 1 },
  {
    model: "r",
    input: [
      { type: "text", text: CANARY },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
    ],
  },
].map((body) => JSON.stringify(body));

export const BODIES_OF_SURFACES: readonly FuzzTarget[] = INFERENCE_ENDPOINTS.map(
  ({ path, surface, body: schema }) => {
    if (schema === null) throw new Error(`${path} takes any body`);
    const validate = bodyValidator(schema);
    const quiet = (error: { readonly message: string }): void =>
      ok(!error.message.includes(CANARY), "a refusal repeats a value");
    return {
      name: `${path}: a body is read, or refused without a value`,
      property: fc.property(mutated(BODIES), (bytes) => {
        const body = parseJsonBytes(bytes);
        if (body === undefined || !isJsonObject(body)) return;
        const refused = validate(body) ?? surface.refuseUnknown(body, "reject");
        if (refused !== null) return quiet(refused);
        const request = surface.parse(body, bytes.length, NO_HEADERS);
        if ("code" in request) return quiet(request);
        if (surface.kind !== "generate") return;
        const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
        if ("code" in canonical) quiet(canonical);
      }),
    };
  },
);
