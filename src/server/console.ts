import { randomBytes } from "node:crypto";
import type { OidcSettings, SecretReference } from "../canon/table.ts";
import { readBundle, type Bundle } from "../http/console/bundle.ts";
import type { Console, OidcClient } from "../http/console/console-port.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import { createSessions, createSignInCodes } from "../keys/sessions.ts";
import type { TokenExchange } from "../keys/tokens/token-exchange.ts";
import type { Store } from "../store/port.ts";
import { type FindProxy, proxiedFetch } from "../dispatch/egress-proxy.ts";
import { secretReader } from "./alerts.ts";
import type { ServeOptions } from "./running-server.ts";

/** Where the package has the page, beside this file's folder, and where a checkout builds it. */
const FOLDERS = [
  new URL("../console/", import.meta.url),
  new URL("../../console/dist/", import.meta.url),
];

/** The console as the options ask for it. */
interface OpenConsole {
  readonly runtime: Console;
  /** A code that signs in once, in this process, as the holder of a key. */
  readonly signInCode: (keyId: string) => string;
}

/** @returns `null` where there is to be none. */
export function openConsole(
  {
    console: listener = "off",
    tls,
    exposure,
    config,
    port,
  }: Pick<ServeOptions, "console" | "tls" | "exposure" | "config" | "port">,
  environment: Readonly<Record<string, string | undefined>>,
  store: Pick<Store, "sessions">,
  keys: Pick<OpenKeyRing, "holder" | "lookUpId">,
  { sealSignIn, openSignIn }: Pick<TokenExchange, "sealSignIn" | "openSignIn">,
  findProxy: FindProxy | null,
): OpenConsole | null {
  if (listener === "off") return null;
  const codes = createSignInCodes(randomBytes);
  let built: Promise<Bundle | null> | null = null;
  const bundle = async (): Promise<Bundle | null> => {
    built ??= firstBundle();
    const found = await built;
    // Built while the server runs, it is there at the next request.
    if (found === null) built = null;
    return found;
  };
  const runtime: Console = {
    listener,
    // The options speak of the public listener; the admin listener has no TLS.
    isSecure: listener === "public" && (tls !== undefined || exposure === "behind_proxy"),
    inference: listener === "public" || port === 0 ? null : { port, tls: tls !== undefined },
    bundle,
    sessions: createSessions(store.sessions, randomBytes),
    holderOf: async (keyId, now) => {
      const holder = keys.holder(keyId, now);
      if (holder !== null || !(await keys.lookUpId(keyId))) return holder?.identity ?? null;
      return keys.holder(keyId, now)?.identity ?? null;
    },
    takeCode: (code, now) => codes.take(code, now),
    sealSignIn,
    openSignIn,
    // Of a secret that is not set, the provider refuses the empty text.
    oidcClient: oidcClients(secretReader(config, environment), findProxy),
  };
  return { runtime, signInCode: (keyId) => codes.make(keyId, Date.now()) };
}

/**
 * Clients of identity providers, made when a person signs in; another one where the configuration
 * or the secret has changed.
 */
function oidcClients(
  secretOf: (reference: SecretReference) => string,
  findProxy: FindProxy | null,
): Console["oidcClient"] {
  let newest: { readonly key: string; readonly client: Promise<OidcClient> } | null = null;
  return (settings) => {
    const { clientSecret } = settings;
    const secret = clientSecret === null ? null : secretOf(clientSecret);
    const key = JSON.stringify([settings, secret]);
    if (newest?.key !== key) newest = { key, client: load(settings, secret, findProxy) };
    return newest.client;
  };
}

/** Milliseconds. */
const CONNECT_TIMEOUT = 10_000;

/** The protocol's library is loaded with the first sign-in. */
async function load(
  settings: OidcSettings,
  secret: string | null,
  findProxy: FindProxy | null,
): Promise<OidcClient> {
  const { createOidcClient } = await import("../keys/oidc-client.ts");
  const call = findProxy === null ? undefined : proxiedFetch(findProxy, CONNECT_TIMEOUT);
  return createOidcClient(settings, secret, call);
}

async function firstBundle(): Promise<Bundle | null> {
  for (const folder of FOLDERS) {
    const found = await readBundle(folder);
    if (found !== null) return found;
  }
  return null;
}
