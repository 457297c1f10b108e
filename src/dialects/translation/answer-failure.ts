import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { JsonValue } from "../../canon/json.ts";

/** A failure that showed in the answer itself. `code` is one of ours. */
export function answerFailure(kind: FailureKind, code: string | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code };
}

/**
 * The member that an upstream's error names by a path (`max_tokens`, `messages[2].content`, `messages.2.content`): its name, and its place in a list. What
 * follows may be the caller's own words (names of a schema) and is left out. Nothing where there is no such path.
 */
export function namedMember(path: JsonValue | undefined): { readonly param: string } | null {
  const match =
    typeof path === "string"
      ? /^([a-z][a-z0-9_]{0,63})(?:\.?\[(\d{1,6})\]|\.(\d{1,6})(?!\w))?(?!\w)/i.exec(path)
      : null;
  if (match === null) return null;
  const [, name = "", bracketed, dotted] = match;
  const index = bracketed ?? dotted;
  return { param: index === undefined ? name : `${name}[${index}]` };
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
