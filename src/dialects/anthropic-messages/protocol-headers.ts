import { NO_HEADERS, type ProtocolHeaders } from "../../canon/request.ts";
import type { IncomingHeaders } from "../dialect.ts";

/** Most beta flags that are looked at; coding agents send about ten. */
const MAXIMUM_BETAS = 64;

/** The only headers of a client that a provider may receive, each through its dialect's own allow-list (docs/protocols.md#headers-of-the-client). */
export function protocolHeaders(headers: IncomingHeaders): ProtocolHeaders {
  const version = headers["anthropic-version"];
  const betas = headers["anthropic-beta"];
  if (version === undefined && betas === undefined) return NO_HEADERS;
  return {
    version: typeof version === "string" ? version : null,
    betas:
      betas === undefined
        ? []
        : String(betas)
            .split(",")
            .map((word) => word.trim())
            .filter((word) => /^[a-z0-9][a-z0-9.-]{0,126}$/.test(word))
            .slice(0, MAXIMUM_BETAS),
  };
}
