import type { AnswerBytes } from "./answer-bytes.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { EmbedResult } from "../../canon/unary/embed.ts";
import type { ModerateResult } from "../../canon/unary/moderate.ts";
import type { RerankResult } from "../../canon/unary/rerank.ts";
import type { FormattedRequest, Target } from "../dialect.ts";

export type UnaryResult = EmbedResult | RerankResult | ModerateResult;

/** How a provider is spoken to where one JSON answer follows one JSON request. */
export interface UnaryUpstream<Request, Result extends UnaryResult> {
  /**
   * Prints a request whose features the endpoint has (`EndpointRow.features`). The error is for what only the last look finds; it is a 400
   * that names what cannot be said.
   */
  readonly format: (request: Request, target: Target) => FormattedRequest | ServiceError;
  /**
   * Reads and checks an answer with status 200. What is not whole is a failure, kind `malformed` with a code of `answer-codes.ts`: nothing is
   * filled in, nothing is put in another order in silence.
   */
  readonly parseAnswer: (answer: AnswerBytes, request: Request, target: Target) => Result | UpstreamFailure;
  /** Makes a failure of an answer with an error status. Nothing of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}
