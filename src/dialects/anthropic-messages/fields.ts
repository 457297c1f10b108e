import type { Operation } from "../../canon/operation.ts";
import type { FieldRegistry } from "../fields.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { ProtocolHeaders } from "../../canon/request.ts";

/**
 * Paths after a provider's base URL, which has no `/v1`: official clients are configured the same
 * way.
 */
export const MESSAGES_PATH = "/v1/messages";
export const COUNT_PATH = "/v1/messages/count_tokens";

/** Top-level members that both operations have. */
const SHARED_FIELDS: FieldRegistry = {
  model: { class: "core" },
  messages: { class: "core" },
  system: { class: "core" },
  tools: { class: "core" },
  tool_choice: { class: "core" },
  thinking: { class: "core" },
  output_config: { class: "core" },
  /** Older spelling of `output_config.format`, still sent by clients. */
  output_format: { class: "core" },
  context_management: { class: "core" },
  compaction: { class: "core", uses: "native_messages" },
  mcp_servers: { class: "egress", needs: "mcp", uses: "native_messages" },
  cache_control: { class: "hint" },
  speed: { class: "hint" },
  inference_geo: { class: "region" },
  user_profile_id: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Every known top-level member of a messages request
 * (docs/protocols.md#classes-of-request-members).
 */
export const MESSAGES_FIELDS: FieldRegistry = {
  ...SHARED_FIELDS,
  max_tokens: { class: "core" },
  stream: { class: "core" },
  stop_sequences: { class: "core" },
  temperature: { class: "core", uses: "sampling" },
  top_p: { class: "core", uses: "sampling" },
  top_k: { class: "core", uses: "top_k" },
  service_tier: { class: "hint" },
  diagnostics: { class: "hint" },
  container: { class: "state" },
  thread: { class: "state" },
  /** Names other models for the provider to ask: a way past the routing table. */
  fallbacks: { class: "egress" },
  billing_policy: { class: "state" },
  fallback_credit_token: { class: "state" },
  metadata: { class: "identity" },
};

/** Every top-level member of a count_tokens request that we know. */
export const COUNT_TOKENS_FIELDS: FieldRegistry = SHARED_FIELDS;

/** The registry of an operation's bodies. */
export function fieldsOf(operation: Operation): FieldRegistry {
  return operation === "messages.count_tokens" ? COUNT_TOKENS_FIELDS : MESSAGES_FIELDS;
}

/**
 * Versions of the protocol that we speak, the older one first. A caller that names none speaks it.
 */
export const VERSIONS = ["2023-06-01", "2026-10-21"] as const;
export type Version = (typeof VERSIONS)[number];

/** The version that a caller speaks, or the 400 for one that we do not. */
export function readVersion({ version }: ProtocolHeaders): Version | ServiceError {
  const known = VERSIONS.find((one) => one === (version ?? VERSIONS[0]));
  if (known !== undefined) return known;
  return invalidRequest(
    "unsupported_version",
    `The header anthropic-version must be one of ${VERSIONS.join(", ")}`,
    "anthropic-version",
  );
}

const REMOVED = ["temperature", "top_p", "top_k"] as const;

/**
 * The 400 for a member that the version does not have, default values included
 * (docs/protocols.md#versions-of-messages).
 */
export function removedMember(body: JsonObject, version: Version): ServiceError | null {
  if (version === "2023-06-01") return null;
  const name = REMOVED.find((member) => isGiven(body[member]));
  return name === undefined ? null : goneUnder(version, name, "does not exist");
}

/** The 400 for what the newer version no longer takes. */
export function goneUnder(version: Version, path: string, why: string): ServiceError {
  return invalidRequest(
    "removed_in_version",
    `${path} ${why} under anthropic-version ${version}`,
    path,
  );
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
