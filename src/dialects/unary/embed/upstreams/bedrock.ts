import type { UpstreamFailure } from "../../../../canon/failure.ts";
import type { JsonObject } from "../../../../canon/json.ts";
import { readException } from "../../../bedrock-converse/read-error.ts";
import type { Target } from "../../../dialect.ts";
import type { AnswerFault } from "../../answer-codes.ts";

/** Where Bedrock's InvokeModel calls a model, after the host of its runtime. */
export function invokePath({ endpoint }: Target): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/invoke`;
}

/** What an answer without vectors is: an error that said 200, or nothing known. */
export function withoutVectors(body: JsonObject): UpstreamFailure | AnswerFault {
  const { __type: type, message } = body;
  return typeof message === "string"
    ? readException(typeof type === "string" ? type : undefined, body)
    : "missing_results";
}
