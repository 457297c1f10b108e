import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { readConverseError } from "../../bedrock-converse/read-error.ts";
import type { HostedRequest, OutgoingRequest } from "../../dialect.ts";
import { parseAnswerBytes } from "../../json-bytes.ts";
import { COUNT_PATH } from "../paths.ts";
import { textToBase64 } from "../../../canon/json/text-base64.ts";
import { headerIn, hostedBody } from "./hosted-body.ts";
import { plainAnswer } from "./invoke-marks.ts";
import { InvokeStream } from "./invoke-stream.ts";

const VERSION = "bedrock-2023-05-31";
const STREAM_TYPE = "application/vnd.amazon.eventstream";

/**
 * Amazon Bedrock's InvokeModel: the model and whether the answer streams are said by the path, version and betas by members of the body;
 * streams are binary frames. Counting is an operation of its own around the same body.
 */
export function hostOnBedrock(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, VERSION, ["model", "stream"]);
  const betas = headerIn(request.headers, "anthropic-beta");
  if (betas !== null) body["anthropic_beta"] = betas.split(",");
  const streams = request.body["stream"] === true;
  const operation = counts ? "count-tokens" : streams ? "invoke-with-response-stream" : "invoke";
  return {
    // Slashes of a model's ARN and colons of its version are data here.
    path: `/model/${encodeURIComponent(upstreamModel)}/${operation}`,
    body: counts ? countedBody(body) : body,
    headers: [],
    stripped,
    streamType: STREAM_TYPE,
    unwrapStream: (stream) => new InvokeStream(stream),
    unwrapAnswer: counts ? plainCount : plainAnswer,
    readError: readConverseError,
  };
}

/**
 * The cloud counts the tokens of a whole request and refuses one without an output limit, which counts of the protocol do not have. A limit has
 * no tokens of its own; it must only be above the budget for thinking.
 */
function countedBody(body: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const { thinking } = body;
  const budget = isJsonObject(thinking) ? thinking["budget_tokens"] : null;
  const limit = typeof budget === "number" ? budget + 1 : 1;
  return { input: { invokeModel: { body: textToBase64(JSON.stringify({ ...body, max_tokens: limit })) } } };
}

const encoder = new TextEncoder();

/** A count in the protocol's words; what is no count is left for the protocol's reader to refuse. */
function plainCount(bytes: Uint8Array): Uint8Array {
  const answer = parseAnswerBytes(bytes);
  const count = isJsonObject(answer) ? answer["inputTokens"] : undefined;
  return typeof count === "number" ? encoder.encode(JSON.stringify({ input_tokens: count })) : bytes;
}
