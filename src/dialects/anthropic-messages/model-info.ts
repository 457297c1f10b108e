import { NULLABLE_COUNT, TEXT, complete } from "../../canon/json/schema.ts";
import type { Capability, Feature } from "../../canon/capability.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";

/** A route as the protocol's list of models describes it. */
interface DescribedRoute {
  readonly route: { readonly id: string; readonly title: string };
  /** Tokens; `null` where an endpoint's is not declared. */
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: readonly Capability[];
  /** Whether a request of the operation gets through with these needs and features. */
  readonly serves: (
    operation: Operation,
    needs: readonly Capability[],
    features: readonly Feature[],
  ) => boolean;
}

/** An entry of the protocol's list of models: the members of Anthropic's `ModelInfo`. */
export function modelInfo(described: DescribedRoute): JsonObject {
  const { id, title } = described.route;
  return {
    type: "model",
    id,
    display_name: title === "" ? id : title,
    // A route has no date of creation; the protocol says the epoch where it is unknown.
    created_at: "1970-01-01T00:00:00Z",
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: described.contextWindow,
    max_tokens: described.maxOutputTokens,
    capabilities: capabilities(described),
  };
}

interface Support extends JsonObject {
  readonly supported: boolean;
}

/**
 * All capability names of the protocol, as its clients read them: what a messages request may
 * require of the route. Then every capability of the route under the name that it has here; a name
 * that both have (`image_input`, `code_execution`) says what the route has.
 */
function capabilities({ serves, capabilities: known }: DescribedRoute): JsonObject {
  const requires = (needs: readonly Capability[], ...features: readonly Feature[]): Support =>
    support(serves("messages", needs, features));
  const effort = {
    low: requires(["reasoning"], "effort_low"),
    medium: requires(["reasoning"], "effort_medium"),
    high: requires(["reasoning"], "effort_high"),
    xhigh: requires(["reasoning"], "effort_xhigh"),
    max: requires(["reasoning"], "effort_max"),
  };
  const serverTools = {
    web_search: requires(["web_search"], "native_messages"),
    code_execution: requires(["code_execution"], "native_messages"),
  };
  return {
    batch: NO,
    citations: NO,
    code_execution: NO,
    context_management: {
      ...NO,
      clear_thinking_20251015: NO,
      clear_tool_uses_20250919: NO,
      compact_20260112: NO,
    },
    effort: { ...anyOf(effort), ...effort },
    image_input: requires(["image_input"]),
    pdf_input: requires(["file_input"]),
    server_tools: { ...anyOf(serverTools), ...serverTools },
    structured_outputs: requires(["json_schema"]),
    thinking: {
      ...requires(["reasoning"]),
      types: {
        adaptive: requires(["reasoning"]),
        between_tools: NO,
        disabled: requires([], "effort_none"),
        enabled: requires(["reasoning"], "reasoning_budget"),
      },
    },
    ...Object.fromEntries(known.map((name) => [name, support(true)])),
  };
}

function support(supported: boolean): Support {
  return { supported };
}

/**
 * What cannot be promised: the router has no batches, and what a model does with the others is not
 * declared in routes.yaml.
 */
const NO = support(false);

function anyOf(supports: Readonly<Record<string, Support>>): Support {
  return support(Object.values(supports).some(({ supported }) => supported));
}

const supported = complete({ supported: { type: "boolean" } });

/**
 * JSON Schema of such an entry.
 *
 * @param facts members that follow, which every list of routes has.
 */
export function modelInfoSchema(facts: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    title: "AnthropicModel",
    type: "object",
    required: [
      "type",
      "id",
      "display_name",
      "created_at",
      "lifecycle",
      "max_input_tokens",
      "max_tokens",
      "capabilities",
      ...Object.keys(facts),
    ],
    properties: {
      type: { const: "model" },
      id: TEXT,
      display_name: TEXT,
      created_at: {
        type: "string",
        description: "Always the epoch: a route has no date of creation.",
      },
      lifecycle: { const: "active" },
      line: { type: "null" },
      deprecated_at: { type: "null" },
      retires_at: { type: "null" },
      max_input_tokens: NULLABLE_COUNT,
      max_tokens: NULLABLE_COUNT,
      capabilities: {
        type: "object",
        description:
          "The protocol's values, and every capability of the route under its name in GET /v1/models.",
        additionalProperties: supported,
      },
      ...facts,
    },
  };
}
