import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";
import { hostKind } from "../../../network/address.ts";
import type { Spot } from "../source/fields.ts";
import type { ImportedConfiguration } from "./imported-configuration.ts";
import { isOwnHost } from "./provider-location.ts";

/** Paths of single operations, which a base URL does not have. */
const OPERATION_PATH = /\/(?:chat\/completions|completions|embeddings|rerank|v1\/messages|messages)\/*$/;

/**
 * A base URL of the source as routes.yaml takes it: without credentials, query and slash at the end.
 *
 * @returns `null` where it is none, which has been reported.
 */
export function baseUrlOf(text: string, spot: Spot, { findings, report }: ImportedConfiguration): string | null {
  if (!URL.canParse(text) || !/^https?:\/\/[^\s\\]+$/.test(text)) {
    findings.add("WRONG_VALUE", spot.at, "this is not an http(s) URL", "write scheme, host and path");
    return null;
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    report.add("decide", spot, "the URL holds credentials, which are not carried over; put them into the environment");
  if (url.search !== "" || url.hash !== "") report.add("left_out", spot, "the query of the URL: base URLs have none");
  const bare = `${url.protocol}//${url.host}${url.pathname}`.replace(/\/+$/, "").replace(OPERATION_PATH, "");
  if (looksLikeSecret(bare)) {
    report.add("decide", spot, "the URL looks as if it held a credential, so it is not carried over");
    return null;
  }
  return bare;
}

/** Keys of a row that an address needs besides `base_url`, and the address where plain http cannot be. */
export function transportOf(
  baseUrl: string | null,
  isPrivate: boolean,
  spot: Spot,
  { report }: ImportedConfiguration,
): { readonly base_url?: string; readonly network?: "private"; readonly plaintext?: true } {
  if (baseUrl === null) return {};
  const { protocol, hostname } = new URL(baseUrl);
  const isOwn = isPrivate || isOwnHost(hostname);
  const kind = hostKind(hostname);
  const network = isOwn ? ({ network: "private" } as const) : {};
  if (protocol === "https:" || /^(?:localhost|\[::1\]|127\..*)$/.test(hostname))
    return { base_url: baseUrl, ...network };
  if (kind === "public" || !isOwn) {
    report.add(
      "changed",
      spot,
      "plain http over the internet: `https` is written, because keys and prompts would cross it unencrypted",
    );
    return { base_url: baseUrl.replace(/^http:/, "https:") };
  }
  report.add(
    "decide",
    spot,
    "plain http in a network of your own: `plaintext: true` is written; give this server TLS where the network is shared",
  );
  return { base_url: baseUrl, ...network, plaintext: true };
}
