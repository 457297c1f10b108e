import type { Feature } from "../../../src/canon/capability.ts";
import type {
  DataSource,
  GenerateRequest,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";

/**
 * What a request in canon uses of a wire protocol, read off the canon itself. Surfaces find the
 * same names in their bodies before there is any canon; this is the other way to the same answer,
 * so that neither can forget one.
 */
export function featuresUsed(request: GenerateRequest): readonly Feature[] {
  const used = new Set<Feature>();
  const { reasoning, toolChoice, stop, temperature } = request;
  const use = (when: boolean, feature: Feature): void => {
    if (when) used.add(feature);
  };
  use(request.purpose === "count", "count_tokens");
  use(!isOneText(request), "conversation");
  use(temperature !== null || request.topP !== null, "sampling");
  use(temperature !== null && temperature > 1, "temperature_above_1");
  use(request.topK !== null, "top_k");
  use(request.frequencyPenalty !== null || request.presencePenalty !== null, "penalties");
  use(
    [request.frequencyPenalty ?? 0, request.presencePenalty ?? 0].some(
      (penalty) => penalty < 0 || penalty > 1,
    ),
    "penalties_outside_0_1",
  );
  use(request.logitBias !== null, "logit_bias");
  use(request.seed !== null, "seed");
  use(stop.length > 0, "stop_sequences");
  use(stop.length > 4, "stop_sequences_over_4");
  use(
    stop.some((sequence) => sequence.trim() === ""),
    "stop_sequences_blank",
  );
  use(request.logprobs !== null, "token_logprobs");
  use(request.verbosity !== null, "verbosity");
  use(
    request.tools.some(({ strict }) => strict === true),
    "tool_strict",
  );
  const isOneTool = request.tools.length === 1;
  use(
    request.parallelToolCalls === false,
    isOneTool ? "one_tool_called_once" : "parallel_tool_calls_off",
  );
  if (toolChoice !== null && toolChoice.mode !== "auto" && toolChoice.mode !== "none")
    used.add(
      isOneTool && toolChoice.mode === "named"
        ? "tool_choice_required"
        : `tool_choice_${toolChoice.mode}`,
    );
  if (reasoning !== null && reasoning.effort !== "unspecified")
    used.add(`effort_${reasoning.effort}`);
  use(reasoning !== null && reasoning.budget !== null, "reasoning_budget");
  const reasons = reasoning !== null && reasoning.effort !== "none";
  use(reasons && isForced(request), "forced_tool_with_reasoning");
  use(request.format !== null && (reasons || isForced(request)), "constrained_schema");
  use(request.format !== null && request.tools.length > 0, "schema_with_tools");
  const begun = request.turns.findIndex(({ role }) => role !== "system");
  use(
    request.turns.some(({ role }, index) => role === "system" && begun !== -1 && index > begun),
    "mid_conversation_system",
  );
  for (const turn of request.turns) useOfTurn(turn, use);
  return [...used].toSorted();
}

function isOneText({ turns, tools }: GenerateRequest): boolean {
  const [turn] = turns;
  if (tools.length > 0 || turns.length !== 1 || turn?.role !== "user") return false;
  return turn.content.length === 1 && turn.content[0]?.kind === "text";
}

function isForced({ toolChoice }: GenerateRequest): boolean {
  if (toolChoice === null) return false;
  return toolChoice.mode === "allowed"
    ? toolChoice.required
    : toolChoice.mode === "required" || toolChoice.mode === "named";
}

const COMMON_FILES: ReadonlySet<string> = new Set(["application/pdf", "text/plain"]);

function useOfTurn(turn: Turn, use: (when: boolean, feature: Feature) => void): void {
  if (turn.role === "assistant")
    use(
      turn.content.some((part) => part.kind === "reasoning" && part.signature !== null),
      "signed_reasoning",
    );
  const inResults = turn.role === "tool";
  const parts =
    turn.role === "tool"
      ? turn.results.flatMap(({ content }) => content)
      : turn.role === "user"
        ? turn.content
        : [];
  for (const part of parts) {
    if (part.kind !== "image" && part.kind !== "file") continue;
    use(inResults, "tool_result_files");
    use(isNamed(part.source), part.kind === "image" ? "image_url" : "file_url");
    use(part.kind === "image" && (part.detail === "low" || part.detail === "high"), "image_detail");
    use(
      part.kind === "file" &&
        part.source.kind === "base64" &&
        !COMMON_FILES.has(part.source.mediaType),
      "file_of_other_type",
    );
  }
}

function isNamed({ kind }: DataSource): boolean {
  return kind === "url";
}
