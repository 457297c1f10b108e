import type { Capability } from "../../../canon/capability.ts";
import type { Feature } from "../../../canon/generate/feature.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { routeFacts } from "./openai-model.ts";
import type { ListedRoute, UsableRoute } from "./usable-routes.ts";

/** An entry of GET /api/v1/models: the members of Anthropic's `ModelInfo`, and those of the other shape. */
export function anthropicModel(usable: ListedRoute): JsonObject {
  const { id, title } = usable.route;
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
    max_input_tokens: usable.contextWindow,
    max_tokens: usable.maxOutputTokens,
    capabilities: capabilities(usable),
    ...routeFacts(usable),
  };
}

interface Support extends JsonObject {
  readonly supported: boolean;
}

/**
 * The protocol's words, all of them, as clients of it read them: what a messages request may ask of the route. Then every capability of the route
 * under the name that it has here; a word that both have (`image_input`, `code_execution`) says what the route has.
 */
function capabilities(usable: UsableRoute): JsonObject {
  const asks = (needs: readonly Capability[], ...features: readonly Feature[]): Support =>
    support(usable.serves("messages", needs, features));
  const effort = {
    low: asks(["reasoning"], "effort_low"),
    medium: asks(["reasoning"], "effort_medium"),
    high: asks(["reasoning"], "effort_high"),
    xhigh: asks(["reasoning"], "effort_xhigh"),
    max: asks(["reasoning"], "effort_max"),
  };
  const serverTools = {
    web_search: asks(["web_search"], "native_messages"),
    code_execution: asks(["code_execution"], "native_messages"),
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
    image_input: asks(["image_input"]),
    pdf_input: asks(["file_input"]),
    server_tools: { ...anyOf(serverTools), ...serverTools },
    structured_outputs: asks(["json_schema"]),
    thinking: {
      ...asks(["reasoning"]),
      types: {
        adaptive: asks(["reasoning"]),
        between_tools: NO,
        disabled: asks([], "effort_none"),
        enabled: asks(["reasoning"], "reasoning_budget"),
      },
    },
    ...Object.fromEntries(usable.capabilities.map((name) => [name, support(true)])),
  };
}

function support(supported: boolean): Support {
  return { supported };
}

/** What nobody can be promised: the router has no batches, and what a model does with the others is not declared in routes.yaml. */
const NO = support(false);

function anyOf(supports: Readonly<Record<string, Support>>): Support {
  return support(Object.values(supports).some(({ supported }) => supported));
}
