import type { Hints, OutputFormat, ReasoningRequest } from "../../../canon/generate/generate-request.ts";
import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { REASONING_EFFORTS } from "../../../canon/request.ts";
import type { Members } from "../../members.ts";
import { OUTPUT_LOGPROBS } from "../fields.ts";
import { askedFormat } from "../response-format.ts";
import { isNamedChoice } from "../surface/ask-tools.ts";

export function readTools(body: Members): readonly Tool[] {
  return body.objects("tools").map((tool) => {
    tool.take("type");
    // Only `false` gets here, which is what leaving it out means.
    tool.take("defer_loading");
    const read: Tool = {
      name: tool.text("name") ?? "",
      description: tool.text("description"),
      parameters: tool.whole("parameters"),
      strict: tool.flag("strict"),
      cache: null,
    };
    tool.close();
    return read;
  });
}

export function readToolChoice(body: Members): ToolChoice | null {
  const choice = body.take("tool_choice");
  if (choice === undefined || choice === "auto") return null;
  if (choice === "none" || choice === "required") return { mode: choice };
  if (isNamedChoice(choice)) return { mode: "named", name: choice.name };
  if (isJsonObject(choice) && choice["type"] === "allowed_tools") {
    const { tools, mode } = choice;
    const names = Array.isArray(tools) ? tools.filter(isNamedChoice).map(({ name }) => name) : [];
    return { mode: "allowed", names, required: mode === "required" };
  }
  body.refuse("tool_choice", "invalid_value", "cannot be translated for an endpoint of another protocol");
  return null;
}

/** `text` and its alias. The two have been compared when the body was parsed. */
export function readFormat(
  body: Members,
  whole: JsonObject,
): { format: OutputFormat | null; verbosity: string | null } {
  body.take("response_format");
  const text = body.object("text");
  text?.take("format");
  const word = text?.text("verbosity") ?? null;
  text?.close();
  // The protocol's default asks for nothing.
  const verbosity = word === "medium" ? null : word;
  const found = askedFormat(whole);
  const format = found !== null && "format" in found ? found.format : null;
  if (format === null || format["type"] === "text") return { format: null, verbosity };
  if (format["type"] === "json_object") return { format: { kind: "json_object" }, verbosity };
  const { name, description, schema, strict } = format;
  return {
    format: {
      kind: "json_schema",
      name: typeof name === "string" ? name : null,
      description: typeof description === "string" ? description : null,
      schema: isJsonObject(schema) ? schema : {},
      strict: typeof strict === "boolean" ? strict : null,
    },
    verbosity,
  };
}

export function readReasoning(body: Members): ReasoningRequest | null {
  const reasoning = body.object("reasoning");
  if (reasoning === null) return null;
  const effort = reasoning.word("effort", REASONING_EFFORTS);
  const older = reasoning.word("generate_summary", ["auto", "concise", "detailed"]);
  const display = reasoning.word("summary", ["auto", "concise", "detailed"]) ?? older;
  // Values that are not the protocol's defaults ask for this protocol.
  reasoning.word("context", ["auto"]);
  reasoning.word("mode", ["standard"]);
  reasoning.close();
  if (effort === null && display === null) return null;
  return { effort: effort ?? "unspecified", budget: null, adaptive: false, display };
}

/** How many alternatives for each token; `null` where no log probabilities are asked for. */
export function readLogprobs(body: Members): number | null {
  const alternatives = body.number("top_logprobs") ?? 0;
  const isIncluded = body.list("include").includes(OUTPUT_LOGPROBS);
  return isIncluded || alternatives > 0 ? alternatives : null;
}

/** @param stripped names of members that a policy takes out. */
export function readHints(body: Members, stripped: readonly string[]): Hints {
  const read = (name: string): string | null => {
    const value = body.text(name);
    if (value === null || !stripped.includes(name)) return value;
    body.ledger.strip(name);
    return null;
  };
  const tier = read("service_tier");
  const hints = {
    // The protocol's default asks for nothing.
    serviceTier: tier === "auto" ? null : tier,
    promptCacheKey: read("prompt_cache_key"),
    promptCacheRetention: read("prompt_cache_retention"),
  };
  if (body.take("prompt_cache_options") === undefined) return hints;
  if (stripped.includes("prompt_cache_options")) body.ledger.strip("prompt_cache_options");
  else body.ledger.lose("cache_hint_dropped");
  return hints;
}
