import type { Capability } from "../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import type { ProtocolHeaders } from "../../canon/request.ts";
import { memberIn } from "../json.ts";
import { storedState, type Kinds, type TypeNeeds } from "../kinds.ts";
import {
  CORE,
  HINT,
  IDENTITY,
  ROUTER,
  STATE,
  isEmptyValue,
  type FieldRegistry,
} from "../request-reading.ts";

/**
 * Paths after a provider's base URL, which has no `/v1`: official clients are configured the same
 * way.
 */
export const MESSAGES_PATH = "/v1/messages";
export const COUNT_PATH = "/v1/messages/count_tokens";

/** Top-level members that both operations have. */
const SHARED_FIELDS: FieldRegistry = {
  model: CORE,
  messages: CORE,
  system: CORE,
  tools: CORE,
  tool_choice: CORE,
  thinking: CORE,
  output_config: CORE,
  /** Older spelling of `output_config.format`, still sent by clients. */
  output_format: CORE,
  context_management: CORE,
  compaction: { uses: "native_messages" },
  mcp_servers: { class: "egress", needs: "mcp", uses: "native_messages" },
  cache_control: HINT,
  speed: HINT,
  inference_geo: { class: "region" },
  user_profile_id: IDENTITY,
  provider: ROUTER,
};

/**
 * Every known top-level member of a messages request
 * (docs/protocols.md#classes-of-request-members).
 */
export const MESSAGES_FIELDS: FieldRegistry = {
  ...SHARED_FIELDS,
  max_tokens: CORE,
  stream: CORE,
  stop_sequences: CORE,
  temperature: { uses: "sampling" },
  top_p: { uses: "sampling" },
  top_k: { uses: "top_k" },
  service_tier: HINT,
  diagnostics: HINT,
  container: STATE,
  thread: STATE,
  /** Names other models for the provider to call, which would bypass the routing table. */
  fallbacks: { class: "egress" },
  billing_policy: STATE,
  fallback_credit_token: STATE,
  metadata: IDENTITY,
};

/** Every known top-level member of a count_tokens request. */
export const COUNT_TOKENS_FIELDS: FieldRegistry = SHARED_FIELDS;

/** The registry of an operation's bodies. */
export function fieldsOf(operation: Operation): FieldRegistry {
  return operation === "messages.count_tokens" ? COUNT_TOKENS_FIELDS : MESSAGES_FIELDS;
}

/** Supported versions of the protocol, the older one first, which is the default. */
export const VERSIONS = ["2023-06-01", "2026-10-21"] as const;

/** Members that the newer version does not have. */
const REMOVED = ["temperature", "top_p", "top_k"];

/** The 400 for a member that the newer version has removed. */
export function removedInVersion(path: string, rule: string): ServiceError {
  return invalidRequest(
    "removed_in_version",
    `${path} ${rule} under anthropic-version ${VERSIONS[1]}`,
    path,
  );
}

/** Position of a block. */
export type BlockContext = "user" | "assistant" | "system" | "tool_result";

interface BlockFacts {
  /** Positions in which canon can hold the block; elsewhere only the protocol itself has it. */
  readonly contexts: readonly BlockContext[];
  /** Members that canon can hold, or may drop. */
  readonly members: readonly string[];
  readonly needs: Capability | null;
}

const NOWHERE: readonly BlockContext[] = [];

/**
 * A block that only the protocol itself has: the capability that it needs, or `null` if it only
 * carries text.
 */
const native = (needs: Capability | null): BlockFacts => ({
  contexts: NOWHERE,
  members: [],
  needs,
});

/** Every known kind of block (docs/protocols.md#messages). */
export const BLOCKS: Readonly<Record<string, BlockFacts>> = {
  text: {
    contexts: ["user", "assistant", "system", "tool_result"],
    members: ["type", "text", "cache_control", "citations"],
    needs: null,
  },
  image: {
    contexts: ["user", "tool_result"],
    members: ["type", "source", "cache_control"],
    needs: "image_input",
  },
  document: {
    contexts: ["user", "tool_result"],
    members: ["type", "source", "cache_control", "title", "citations"],
    needs: "file_input",
  },
  thinking: {
    contexts: ["assistant"],
    members: ["type", "thinking", "signature"],
    needs: null,
  },
  redacted_thinking: { contexts: ["assistant"], members: ["type", "data"], needs: null },
  tool_use: {
    contexts: ["assistant"],
    members: ["type", "id", "name", "input", "cache_control", "caller"],
    needs: "tools",
  },
  tool_result: {
    contexts: ["user"],
    members: ["type", "tool_use_id", "content", "is_error", "cache_control"],
    needs: "tools",
  },
  search_result: native(null),
  tool_reference: native("tools"),
  tool_addition: native("tools"),
  tool_removal: native("tools"),
  tool_search_tool_result: native("tools"),
  browser_state: native("computer_use"),
  server_tool_use: native(null),
  web_search_tool_result: native("web_search"),
  web_fetch_tool_result: native("web_search"),
  code_execution_tool_result: native("code_execution"),
  bash_code_execution_tool_result: native("code_execution"),
  text_editor_code_execution_tool_result: native("code_execution"),
  mcp_tool_use: native("mcp"),
  mcp_tool_result: native("mcp"),
  mcp_tool_listing: native("mcp"),
  advisor_tool_result: native(null),
  compaction: native(null),
  fallback: native(null),
};

/** Capability of a server tool, by its name. */
export const SERVER_TOOLS: Readonly<Record<string, Capability>> = {
  web_search: "web_search",
  web_fetch: "web_search",
  code_execution: "code_execution",
  bash_code_execution: "code_execution",
  text_editor_code_execution: "code_execution",
  tool_search_tool_regex: "tools",
  tool_search_tool_bm25: "tools",
};

/**
 * Kinds of tools, by the prefix of their type; dates follow. Some run at the client, others at the
 * provider.
 */
const TOOL_TYPES: readonly (readonly [string, Capability])[] = [
  ["web_search_", "web_search"],
  ["web_fetch_", "web_search"],
  ["code_execution_", "code_execution"],
  ["bash_", "code_execution"],
  ["text_editor_", "code_execution"],
  ["computer_", "computer_use"],
  ["browser_", "computer_use"],
  ["memory_", "tools"],
  ["tool_search_tool_", "tools"],
  ["mcp_toolset", "mcp"],
];

function toolNeeds(type: string) {
  // A reference names another definition, such as a source of a web fetch (`url_sources`).
  return type === "custom" || type === "" || type === "tool_reference"
    ? "tools"
    : (TOOL_TYPES.find(([beginning]) => type.startsWith(beginning))?.[1] ?? null);
}

/**
 * Types that carry content and settings only: of sources, citations, results, edits and choices
 * (Anthropic's SDK, `messages.d.ts`).
 */
const PLAIN = (
  "base64 url content file approximate ephemeral custom direct adaptive enabled disabled between_tools " +
  "any auto tool none all only except tokens input_tokens thinking_turns tool_uses summarize create continue " +
  "clear_thinking_20251015 clear_tool_uses_20250919 compact_20260112 container_upload tool_definition anthropic " +
  "advisor_result advisor_redacted_result advisor_tool_result_error tool_search_tool_result_error " +
  "tool_search_tool_search_result tab_opened download_started download_completed download_failed"
).split(" ");

const TYPES: TypeNeeds = {
  ...Object.fromEntries(PLAIN.map((type) => [type, null])),
  ...Object.fromEntries(Object.entries(BLOCKS).map(([type, { needs }]) => [type, needs])),
  json_schema: "json_schema",
  encrypted_code_execution_result: "code_execution",
  mcp_tool_reference: "mcp",
  mcp_toolset_reference: "mcp",
};

export const MESSAGES_KINDS: Kinds = {
  toolNeeds,
  types: TYPES,
  toolTypes: ["custom", ...TOOL_TYPES.map(([beginning]) => `${beginning}*`)],
  modelTools: "advisor_",
  unknownType: "unknown_content_part",
};

/** Blocks that an error names for a position. */
export function blocksOf(context: BlockContext): string {
  return Object.keys(BLOCKS)
    .filter((type) => BLOCKS[type]?.contexts.includes(context) === true)
    .join(", ");
}

const STATEFUL = "unsupported_stateful_feature";
const ROUTING = "unsupported_routing_field";

/**
 * Name, code and sentence of top-level members that store content at a provider, or override the
 * routing table.
 */
const REFUSED_MEMBERS = [
  [
    "inference_geo",
    "unsupported_region_field",
    "cannot be chosen by the caller: routes.yaml defines where each endpoint runs. To narrow the region, send provider.region",
  ],
  [
    "fallbacks",
    ROUTING,
    "names models that the provider would call instead: routes.yaml defines which models may get a request. Leave it out",
  ],
  [
    "billing_policy",
    ROUTING,
    "decides whom the provider bills; that is the operator's account. Leave it out",
  ],
  [
    "fallback_credit_token",
    STATEFUL,
    "redeems credit that the provider keeps for one model; leave it out",
  ],
  ["container", STATEFUL, "names or makes a container kept at the provider; leave it out"],
  [
    "thread",
    STATEFUL,
    "would make the provider keep the conversation; send the messages themselves",
  ],
] as const;

/**
 * The 400 for an unsupported version, for such a member on every route, also where unknown members
 * are forwarded, and for a member that the version does not have, default values included
 * (docs/protocols.md#versions-of-messages).
 */
export function refusedBody(body: JsonObject, headers: ProtocolHeaders): ServiceError | null {
  const version = headers.version ?? VERSIONS[0];
  if (!VERSIONS.some((one) => one === version))
    return invalidRequest(
      "unsupported_version",
      `The header anthropic-version must be one of ${VERSIONS.join(", ")}`,
      "anthropic-version",
    );
  for (const [name, code, sentence] of REFUSED_MEMBERS)
    if (!isEmptyValue(body[name])) return invalidRequest(code, `${name} ${sentence}`, name);
  if (memberIn(body.diagnostics, "previous_message_id") != null)
    return storedState(
      "diagnostics.previous_message_id",
      "names an answer that the provider has kept something of; leave it out",
    );
  const removed = version === VERSIONS[0] ? undefined : REMOVED.find((name) => body[name] != null);
  return removed === undefined ? null : removedInVersion(removed, "does not exist");
}
