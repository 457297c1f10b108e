import type { RequestEdits } from "../../../canon/decision.ts";
import { isJsonObject, type JsonValue } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../../../canon/table.ts";
import type { EditedRequest } from "../../dialect.ts";
import { editedBody } from "../../edited-body.ts";
import { fieldsOf } from "../fields.ts";
import { VERSIONS } from "../surface/version.ts";
import { budgetUnder } from "../thinking-budget.ts";
import { bareMessages } from "./bare-messages.ts";

type Body = Record<string, JsonValue | undefined>;

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
  const { body, stripped } = editedBody(fieldsOf(request.shape.operation), request, endpoint, mode, edits);
  const bare = bareMessages(body["messages"]);
  body["messages"] = bare.messages;
  if (bare.dropped) stripped.push("thinking");
  if (edits.maxOutputTokens !== null && request.shape.operation === "messages") {
    capOutput(body, edits.maxOutputTokens);
  }
  return { body, stripped, headers: protocolHeaders(request.headers, provider, stripped) };
}

/** The version that the caller speaks, and those of its beta flags that the provider's row lists. */
function protocolHeaders({ version, betas }: ProtocolHeaders, provider: ProviderRow, stripped: string[]): string[] {
  const sent = provider.flags.includes("version_2023_06_01_only") ? VERSIONS[0] : (version ?? VERSIONS[0]);
  const headers = ["anthropic-version", sent];
  const allowed = betas.filter((beta) => provider.betas.includes(beta));
  if (allowed.length > 0) headers.push("anthropic-beta", allowed.join(","));
  if (allowed.length < betas.length) stripped.push("anthropic-beta");
  return headers;
}

/** Lowers the limit, and the budget for thinking with it. */
function capOutput(body: Body, cap: number): void {
  const { max_tokens, thinking } = body;
  const asked = typeof max_tokens === "number" ? max_tokens : null;
  const limit = Math.min(asked ?? cap, cap);
  body["max_tokens"] = limit;
  if (!isJsonObject(thinking)) return;
  const { budget_tokens } = thinking;
  if (typeof budget_tokens !== "number") return;
  body["thinking"] = { ...thinking, budget_tokens: budgetUnder(budget_tokens, asked, limit) };
}
