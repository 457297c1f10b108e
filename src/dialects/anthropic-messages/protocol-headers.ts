import { NO_HEADERS, type ProtocolHeaders } from "../../canon/request.ts";
import type { IncomingHeaders, SurfaceHeaders } from "../dialect.ts";

/** Most beta flags that are looked at; coding agents send about ten. */
const MAXIMUM_BETAS = 64;

/** Headers of messages requests. */
export const MESSAGES_HEADERS: SurfaceHeaders = {
  read,
  facts: [
    { name: "anthropic-version", description: "The protocol's version.", schema: { type: "string" } },
    {
      name: "anthropic-beta",
      description: "Beta flags, with commas between them; a provider is told of those that routes.yaml lists for it.",
      schema: { type: "string" },
    },
  ],
};

/** The only headers of a client that a provider may receive, each through its dialect's own allow-list (docs/protocols.md#headers-of-the-client). */
function read(headers: IncomingHeaders): ProtocolHeaders {
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
