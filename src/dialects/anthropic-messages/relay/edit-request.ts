import type { RequestEdits } from "../../../canon/decision.ts";
import { editSet } from "../../../canon/generate/edit.ts";
import { isJsonObject, type JsonValue } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../../../canon/table.ts";
import type { EditedRequest } from "../../dialect.ts";
import { editedBody } from "../../relay/edited-body.ts";
import { fieldsOf } from "../fields.ts";
import { VERSIONS } from "../surface/version.ts";
import { budgetUnder } from "../thinking-budget.ts";
import { bareMessages } from "./bare-messages.ts";

type Body = Record<string, JsonValue | undefined>;

const OUTPUT_LIMIT_SET = editSet("output_limit_set");
const SIGNATURES_RESTORED = editSet("signatures_restored");
const VERSION_REPLACED = editSet("version_replaced");

/**
 * The caller's body as the provider gets it: another model name, bare signatures, our own and the identity members taken out, and what
 * policies oblige us to. Everything else travels as it came, members of nested objects included.
 */
export function editMessagesRequest(
  request: InferenceRequest,
  endpoint: EndpointRow,
  provider: ProviderRow,
  mode: UnknownFields,
  edits: RequestEdits,
): EditedRequest {
  const edited = editedBody(fieldsOf(request.shape.operation), request, endpoint, mode, edits);
  const { body, stripped } = edited;
  let made = edited.edits;
  const bare = bareMessages(body["messages"]);
  if (body["messages"] !== bare.messages) made |= SIGNATURES_RESTORED;
  body["messages"] = bare.messages;
  if (bare.dropped) stripped.push("thinking");
  if (edits.maxOutputTokens !== null && request.shape.operation === "messages") {
    if (capOutput(body, edits.maxOutputTokens)) made |= OUTPUT_LIMIT_SET;
  }
  const version = sentVersion(request.headers, provider);
  if (version !== (request.headers.version ?? VERSIONS[0])) made |= VERSION_REPLACED;
  return { body, stripped, edits: made, headers: protocolHeaders(request.headers, provider, version, stripped) };
}

/** The version that the caller speaks, and those of its beta flags that the provider's row lists. */
function protocolHeaders(
  { betas }: ProtocolHeaders,
  provider: ProviderRow,
  version: string,
  stripped: string[],
): string[] {
  const headers = ["anthropic-version", version];
  const allowed = betas.filter((beta) => provider.betas.includes(beta));
  if (allowed.length > 0) headers.push("anthropic-beta", allowed.join(","));
  if (allowed.length < betas.length) stripped.push("anthropic-beta");
  return headers;
}

function sentVersion({ version }: ProtocolHeaders, { flags }: ProviderRow): string {
  return flags.includes("version_2023_06_01_only") ? VERSIONS[0] : (version ?? VERSIONS[0]);
}

/** Lowers the limit, and the budget for thinking with it. Says whether it changed. */
function capOutput(body: Body, cap: number): boolean {
  const { max_tokens, thinking } = body;
  const asked = typeof max_tokens === "number" ? max_tokens : null;
  const limit = Math.min(asked ?? cap, cap);
  body["max_tokens"] = limit;
  const changed = limit !== asked;
  if (!isJsonObject(thinking)) return changed;
  const { budget_tokens } = thinking;
  if (typeof budget_tokens !== "number") return changed;
  body["thinking"] = { ...thinking, budget_tokens: budgetUnder(budget_tokens, asked, limit) };
  return changed;
}
