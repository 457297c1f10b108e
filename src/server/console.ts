import { randomBytes } from "node:crypto";
import type { OidcSettings, SecretReference } from "../canon/table.ts";
import { readBundle, type Bundle } from "../http/console/bundle.ts";
import type { Console, OidcClient } from "../http/console/console-port.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import { Sessions, SignInCodes } from "../keys/sessions.ts";
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
  const codes = new SignInCodes(randomBytes);
  let built: Promise<Bundle | null> | null = null;
  const bundle = async (): Promise<Bundle | null> => {
    built ??= firstBundle();
    const found = await built;
    // Built while the server runs, it is there at the next request.
    if (found === null) built = null;
    return found;
  };
  // Of a secret that is not set, the provider refuses the empty text.
  const clients = new OidcClients(secretReader(config, environment), findProxy);
  const runtime: Console = {
    listener,
    // The options speak of the public listener; the admin listener has no TLS.
    isSecure: listener === "public" && (tls !== undefined || exposure === "behind_proxy"),
    inference: listener === "public" || port === 0 ? null : { port, tls: tls !== undefined },
    bundle,
    sessions: new Sessions(store.sessions, randomBytes),
    holderOf: async (keyId, now) => {
      const known = keys.holder(keyId, now);
      if (known !== null || !(await keys.lookUpId(keyId))) return known?.identity ?? null;
      return keys.holder(keyId, now)?.identity ?? null;
    },
    takeCode: (code, now) => codes.take(code, now),
    sealSignIn,
    openSignIn,
    oidcClient: (settings) => clients.of(settings),
  };
  return { runtime, signInCode: (keyId) => codes.make(keyId, Date.now()) };
}

/**
 * Clients of identity providers, made when a person signs in; another one where the configuration
 * or the secret has changed.
 */
class OidcClients {
  readonly #secretOf: (reference: SecretReference) => string;
  readonly #findProxy: FindProxy | null;
  #known: { readonly key: string; readonly client: Promise<OidcClient> } | null = null;

  constructor(secretOf: (reference: SecretReference) => string, findProxy: FindProxy | null) {
    this.#secretOf = secretOf;
    this.#findProxy = findProxy;
  }

  of(settings: OidcSettings): Promise<OidcClient> {
    const { clientSecret } = settings;
    const secret = clientSecret === null ? null : this.#secretOf(clientSecret);
    const key = JSON.stringify([settings, secret]);
    if (this.#known?.key !== key)
      this.#known = { key, client: load(settings, secret, this.#findProxy) };
    return this.#known.client;
  }
}

/** Milliseconds. */
const CONNECT_TIMEOUT = 10_000;

/** The protocol's library is loaded with the first sign-in. */
async function load(
  settings: OidcSettings,
  secret: string | null,
  findProxy: FindProxy | null,
): Promise<OidcClient> {
  const { OidcClient: Client } = await import("../keys/oidc-client.ts");
  const call = findProxy === null ? undefined : proxiedFetch(findProxy, CONNECT_TIMEOUT);
  return new Client(settings, secret, call);
}

async function firstBundle(): Promise<Bundle | null> {
  for (const folder of FOLDERS) {
    const found = await readBundle(folder);
    if (found !== null) return found;
  }
  return null;
}
