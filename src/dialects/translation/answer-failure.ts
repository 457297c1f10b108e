import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";

/** A failure that showed in the answer itself. `code` is one of ours. */
export function answerFailure(kind: FailureKind, code: string | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code };
}

/** What an error status of an answer means, in any protocol. */
export function kindOfStatus(status: number): FailureKind {
  // A success that is not 200 is no answer of any protocol.
  if (status < 300) return "malformed";
  if (status < 400) return "redirect";
  if (status === 401 || status === 402 || status === 403) return "auth";
  if (status === 404) return "not_found";
  if (status === 408) return "timeout_first_byte";
  if (status === 429) return "rate_limited";
  if (status === 503 || status === 529) return "overloaded";
  return status >= 500 ? "server_error" : "rejected";
}
