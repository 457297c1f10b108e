import { isIP } from "node:net";
import type { Exposure } from "../../server/serve-options.ts";
import { UsageError } from "../terminal/command-io.ts";

/** What the two flags mean; for the refusal and for the log. */
const WAYS =
  "give --tls-cert and --tls-key; or --behind-proxy where a proxy in front terminates TLS and only the proxy reaches the port " +
  "(forwarded headers are ignored); or --insecure-http to send keys over the network unencrypted";

/**
 * Bearer keys must not cross a network in clear unless the operator allows it.
 *
 * @returns `null` where nothing leaves this machine in clear.
 * @throws {UsageError} naming the flags; and where two of them exclude each other.
 */
export function checkExposure(
  host: string,
  hasTls: boolean,
  flags: { readonly insecureHttp: boolean; readonly behindProxy: boolean },
): Exposure | null {
  if (flags.insecureHttp && flags.behindProxy) {
    throw new UsageError("--insecure-http: --behind-proxy is given too; leave one of the two out");
  }
  if (flags.insecureHttp && hasTls) {
    throw new UsageError("--insecure-http: a TLS certificate is given too; leave one of the two out");
  }
  if (hasTls || isLoopback(host)) return null;
  if (flags.behindProxy) return "behind_proxy";
  if (flags.insecureHttp) return "insecure_http";
  throw new UsageError(`--host: other machines reach this address, and there is no TLS: ${WAYS}`);
}

/** A name other than `localhost` may be any address, and may be another one tomorrow. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) === 4) return bare.startsWith("127.");
  return bare.toLowerCase() === "localhost" || /^(?:::|(?:0{1,4}:){7})0{0,3}1$/.test(bare);
}
