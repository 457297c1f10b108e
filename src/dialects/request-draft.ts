import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  GenerateRequest,
  Tool,
  ToolCallPart,
  ToolChoice,
} from "../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../canon/json.ts";
import { parseExactJsonText, type Members } from "./json.ts";

/**
 * A request while it is printed for a provider: its body, dropped fields, and the refusal if it
 * cannot be sent.
 */
export class RequestDraft {
  readonly body: Members = {};
  readonly dropped = new Set<DroppedField>();
  /** The first 400; a body that is written after it is never sent. */
  refusal: ServiceError | null = null;

  refuseRequest(code: string, message: string, param?: string): void {
    this.refusal ??= invalidRequest(code, message, param);
  }

  /**
   * Refuses content that the endpoint's features exclude. The decision sends no such request; one
   * that gets here must not lose the content.
   */
  refuseFeature(feature: string): void {
    this.refuseRequest(
      "feature_not_supported",
      `An endpoint that may get the request has no ${feature}`,
    );
  }
}

/**
 * An object of the members that have a value; `undefined` if none has.
 *
 * @example membersWithValue({ seed: 7, stop: null }) // { seed: 7 }
 */
export function membersWithValue(members: JsonObject): JsonObject | undefined {
  const kept = Object.entries(members).filter(([, value]) => value != null);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** The tools that may be called, for protocols that cannot name them in the choice. */
export function allowedTools({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  return toolChoice?.mode === "allowed"
    ? tools.filter(({ name }) => toolChoice.names.includes(name))
    : tools;
}

/**
 * Whether the answer must call a tool.
 *
 * @example isForced({ mode: "auto" }) // false
 */
export function isForced(choice: ToolChoice | null): boolean {
  if (choice?.mode === "allowed") return choice.required;
  return choice?.mode === "required" || choice?.mode === "named";
}

/** The arguments of a call as an object; readers of requests accept no others. */
export function argumentsOf({ arguments: text }: ToolCallPart): JsonObject {
  const value = parseExactJsonText(text);
  if (!isJsonObject(value)) throw new Error("dialects: a call whose arguments are no object");
  return value;
}
