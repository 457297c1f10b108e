import type { JsonAnswer, StreamEvent, FailureGrammar } from "../answer.ts";
import type { Problem } from "../problem.ts";
import type { Exchange } from "../protocol.ts";

/** Types of errors by status (Bedrock's reference, "Common Errors" of the runtime). */
const TYPES: ReadonlyMap<number, string> = new Map([
  [403, "AccessDeniedException"],
  [404, "ResourceNotFoundException"],
  [408, "ModelTimeoutException"],
  [424, "ModelErrorException"],
  [429, "ThrottlingException"],
  [503, "ServiceUnavailableException"],
]);

/** An error in AWS's shape: the type is in a header, and there is no member for the path. */
export function refuseConverse({ status, message, param }: Problem, sequence: number): JsonAnswer {
  const type =
    TYPES.get(status) ?? (status >= 500 ? "InternalServerException" : "ValidationException");
  return {
    kind: "json",
    status,
    headers: { ...requestIdentity(sequence), "x-amzn-errortype": type },
    body: JSON.stringify({ message: param === null ? message : `${param}: ${message}` }),
  };
}

/** The header with which AWS names a request. */
export function requestIdentity(sequence: number): Readonly<Record<string, string>> {
  return { "x-amzn-requestid": `mock-${sequence}` };
}

/** A 403 for a request without a signature and without a bearer key. */
export function unauthorised(exchange: Exchange): Problem | null {
  const hasKey = /^(?:AWS4-HMAC-SHA256|Bearer) .+/i.test(exchange.header("authorization"));
  return hasKey
    ? null
    : { status: 403, message: "Missing Authentication Token", param: null, code: null };
}

const MESSAGE = JSON.stringify({ message: "Simulated failure in the middle of an answer." });

/** Streams fail with an exception, after which nothing comes. */
export const CONVERSE_FAILURE: FailureGrammar = {
  malformed: {
    name: "contentBlockDelta",
    data: '{"contentBlockIndex":0,"delta":{"text":',
    purpose: "content",
  },
  body: () => MESSAGE,
  errorFrame: (): readonly StreamEvent[] => [
    { name: "internalServerException", data: MESSAGE, purpose: "error" },
  ],
  failed: null,
};
