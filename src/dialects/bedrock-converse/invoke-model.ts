import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import { readException } from "./read-error.ts";
import type { Target } from "../dialect.ts";
import { memberIn } from "../json.ts";

/** Where Bedrock's InvokeModel calls a model, after the host of its runtime. */
export function invokePath({ endpoint }: Target): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/invoke`;
}

/** What an answer without results says has gone wrong: an error has a message. `null` where it says nothing of the kind. */
export function bedrockErrorIn(answer: JsonObject): UpstreamFailure | null {
  if (typeof memberIn(answer, "message") !== "string") return null;
  const type = memberIn(answer, "__type");
  return readException(typeof type === "string" ? type : undefined, answer);
}
