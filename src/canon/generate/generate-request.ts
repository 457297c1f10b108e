import type { JsonObject } from "../json.ts";
import type { ReasoningEffort } from "../request.ts";

/**
 * One turn of a conversation. Tool results are turns of their own; dialects that put them into user
 * messages join and split them.
 */
export type Turn = SystemTurn | UserTurn | AssistantTurn | ToolTurn;

export interface SystemTurn {
  readonly role: "system";
  /** The role as the caller wrote it; most protocols have one of the two. */
  readonly authority: "system" | "developer";
  readonly content: readonly TextPart[];
}

export interface UserTurn {
  readonly role: "user";
  /** The author's name within the conversation; `null` where none was given. */
  readonly name: string | null;
  readonly content: readonly InputPart[];
}

export interface AssistantTurn {
  readonly role: "assistant";
  readonly name: string | null;
  /** In the order of the answer. */
  readonly content: readonly AssistantPart[];
}

export interface ToolTurn {
  readonly role: "tool";
  readonly results: readonly ToolResult[];
}

export type InputPart = TextPart | ImagePart | FilePart | AudioPart;
export type AssistantPart = TextPart | RefusalPart | ReasoningPart | ToolCallPart;

/**
 * A mark that a provider may cache everything up to here; `ttl` as the caller wrote it, `null` for
 * the provider's default.
 */
export interface CacheMark {
  readonly ttl: "5m" | "1h" | null;
}

export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  readonly cache: CacheMark | null;
}

/** Bytes by value or by name. The router never fetches a URL. */
export type DataSource =
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string };

export interface ImagePart {
  readonly kind: "image";
  readonly source: DataSource;
  /** `null` where the caller gave none. */
  readonly detail: "auto" | "low" | "high" | null;
  readonly cache: CacheMark | null;
}

export interface FilePart {
  readonly kind: "file";
  /** Plain text files come as base64 of their UTF-8 bytes with media type `text/plain`. */
  readonly source: DataSource;
  readonly name: string | null;
  readonly cache: CacheMark | null;
}

export interface AudioPart {
  readonly kind: "audio";
  /** Such as `wav`, `mp3`. */
  readonly format: string;
  /** Base64. */
  readonly data: string;
}

export interface RefusalPart {
  readonly kind: "refusal";
  readonly text: string;
}

/**
 * Reasoning of an earlier answer. `signature` belongs to `family` and is worthless to any other.
 */
export interface ReasoningPart {
  readonly kind: "reasoning";
  /** Empty where the provider hid it (redacted or encrypted reasoning). */
  readonly text: string;
  /** Whether `text` sums up reasoning that is not shown. */
  readonly summary: boolean;
  readonly signature: string | null;
  /** The model family that signed; `null` exactly where `signature` is. */
  readonly family: string | null;
}

export interface ToolCallPart {
  readonly kind: "tool_call";
  readonly id: string;
  readonly name: string;
  /** Text of a JSON object; parsers at the door have checked that it is one. */
  readonly arguments: string;
  readonly cache: CacheMark | null;
}

export interface ToolResult {
  readonly callId: string;
  readonly content: readonly (TextPart | ImagePart | FilePart)[];
  /** `null` if the protocol cannot express it. */
  readonly isError: boolean | null;
  readonly cache: CacheMark | null;
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema of the arguments, whole; `null` where the function takes none. */
  readonly parameters: JsonObject | null;
  readonly strict: boolean | null;
  readonly cache: CacheMark | null;
}

export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "named"; readonly name: string }
  /**
   * Only tools of these names; `required` where one of them must be called. Names are among the
   * request's tools.
   */
  | { readonly mode: "allowed"; readonly names: readonly string[]; readonly required: boolean };

/**
 * A request for generation in no vendor's format. Made from a surface's body only where an endpoint
 * of another dialect may get it; everything that two dialects express has a member here, and
 * everything else has been refused by name or recorded as dropped.
 */
export interface GenerateRequest {
  /** `count`: how many tokens the request would have; nothing is generated. */
  readonly purpose: "generate" | "count";
  /** At least one. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  /** `null`: plain text. */
  readonly format: OutputFormat | null;
  /** Tokens; `null` where neither caller nor policy gave a limit. */
  readonly maxOutputTokens: number | null;
  /** Each `null` where the caller gave none. */
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly frequencyPenalty: number | null;
  readonly presencePenalty: number | null;
  readonly logitBias: JsonObject | null;
  readonly seed: number | null;
  readonly stop: readonly string[];
  /** How many alternatives for each token, 0 to 20; `null`: no log probabilities. */
  readonly logprobs: number | null;
  readonly reasoning: ReasoningRequest | null;
  readonly verbosity: string | null;
  readonly hints: Hints;
  readonly stream: boolean;
}

export type OutputFormat =
  | { readonly kind: "json_object" }
  | {
      readonly kind: "json_schema";
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly strict: boolean | null;
    };

export interface ReasoningRequest {
  /** `unspecified` where the caller requests reasoning in another way only. */
  readonly effort: ReasoningEffort;
  /** Tokens; `null` where the caller gave none. */
  readonly budget: number | null;
  /** The model decides how long to reason. */
  readonly adaptive: boolean;
  /** How reasoning is shown: an enum value for summaries, `null` if not requested. */
  readonly display: "auto" | "concise" | "detailed" | "summarized" | "omitted" | null;
}

/** Hints; leaving one out is recorded. */
export interface Hints {
  readonly serviceTier: string | null;
  readonly promptCacheKey: string | null;
  readonly promptCacheRetention: string | null;
}
