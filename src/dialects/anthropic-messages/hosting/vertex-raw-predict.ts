import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { HostedRequest, OutgoingRequest } from "../../dialect.ts";
import { readGeminiError } from "../../gemini/read-error.ts";
import { COUNT_PATH } from "../paths.ts";
import { readMessagesError } from "../read-error.ts";
import { headerIn, hostedBody } from "./hosted-body.ts";

const VERSION = "vertex-2023-10-16";

/** Counting has a path of its own in the place of a model's name; the model is then a member. */
const COUNT_MODEL = "count-tokens";

/**
 * Google Vertex AI, whose base URL ends with the publisher (`…/publishers/anthropic`): the model stands in the path and the version in the
 * body. Answers, streams and the header for betas are the protocol's own.
 */
export function hostOnVertex(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, VERSION, counts ? [] : ["model"]);
  const method = body["stream"] === true ? "streamRawPredict" : "rawPredict";
  // Versions of models stand after an @, which Google's own clients write as it is.
  const model = encodeURIComponent(upstreamModel).replaceAll("%40", "@");
  const betas = headerIn(request.headers, "anthropic-beta");
  return {
    path: `/models/${counts ? COUNT_MODEL : model}:${method}`,
    body,
    headers: betas === null ? [] : ["anthropic-beta", betas],
    stripped,
    streamType: "text/event-stream",
    unwrapStream: (stream) => stream,
    unwrapAnswer: (bytes) => bytes,
    readError: readVertexError,
  };
}

/** Errors of the model's server have the protocol's shape, those of the cloud before it Google's. */
function readVertexError(status: number, bytes: Uint8Array): UpstreamFailure {
  const failure = readMessagesError(status, bytes);
  return failure.code === null ? readGeminiError(status, bytes) : failure;
}
