import type { JsonObject } from "../../../canon/json.ts";
import type { AnswerContext } from "../../dialect.ts";
import { fillItem, isFullOutput } from "./fill-parts.ts";
import { RESOURCE_MEMBERS, requestEcho } from "../render/resource.ts";

/** Whether a provider's resource has every member that clients of Open Responses demand, in itself and in its text parts. */
export function isFullResource(response: JsonObject): boolean {
  return RESOURCE_MEMBERS.every((name) => Object.hasOwn(response, name)) && isFullOutput(response["output"]);
}

/** The provider's resource with the members that it left out; those that it has stay as they are, and in their order. */
export function fillResource(response: JsonObject, context: AnswerContext): JsonObject {
  const now = context.now();
  const defaults: JsonObject = {
    ...requestEcho(context.request.body),
    id: `resp_${context.answerId}`,
    object: "response",
    created_at: now,
    completed_at: response["status"] === "completed" ? now : null,
    incomplete_details: null,
    model: context.model,
    output: [],
    error: null,
    usage: null,
  };
  const filled: Record<string, JsonObject[string]> = { ...response };
  for (const name of RESOURCE_MEMBERS) if (!Object.hasOwn(response, name)) filled[name] = defaults[name] ?? null;
  const { output } = filled;
  if (Array.isArray(output)) filled["output"] = output.map(fillItem);
  filled["request_id"] = context.requestId;
  return filled;
}
