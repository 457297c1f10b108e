import { errors } from "undici";
import { ADDRESS_REFUSED } from "./connect/guarded-connector.ts";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: "connect",
  ENOTFOUND: "connect",
  EAI_AGAIN: "connect",
  EHOSTUNREACH: "connect",
  ENETUNREACH: "connect",
  EADDRNOTAVAIL: "connect",
  EMFILE: "connect",
  ETIMEDOUT: "timeout_connect",
  UND_ERR_CONNECT_TIMEOUT: "timeout_connect",
  EPROTO: "tls",
  [ADDRESS_REFUSED]: "address_refused",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "truncated",
  UND_ERR_HEADERS_OVERFLOW: "malformed",
  UND_ERR_RESPONSE: "malformed",
};

/**
 * Makes a failure of an error of the HTTP client. Only its code is read: messages hold host names and what the other side said.
 *
 * @param sawHeaders whether the answer had begun; a lost connection then means a cut answer.
 */
export function failureOfTransport(error: unknown, sawHeaders: boolean): UpstreamFailure {
  const code = codeOf(error);
  return { kind: kindOf(code, sawHeaders), status: null, retryAfter: null, code: null };
}

function kindOf(code: string, sawHeaders: boolean): FailureKind {
  const known = Object.hasOwn(KINDS, code) ? KINDS[code] : undefined;
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "malformed";
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(code)) return "tls";
  return sawHeaders ? "truncated" : "reset";
}

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  // The client leaves the code out where the answer does not even begin like HTTP.
  if (error instanceof errors.HTTPParserError) return "HPE_";
  // An answer with status 101 and the headers of an upgrade; the code is that of every lost connection.
  if (error instanceof errors.SocketError && error.message === "bad upgrade") return "HPE_";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
