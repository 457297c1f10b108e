import { SCOPES, type Scope } from "../../src/canon/identity.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import type { Endpoint } from "../../src/http/contract/endpoint.ts";
import { startTestServer } from "../support/server.ts";
import type { Answered } from "./contract.ts";

/** One request, before it is sent. */
export interface Asking {
  readonly method?: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/** A whole server with simulated providers, and a key for each scope. */
export interface Served {
  readonly server: RunningServer;
  readonly keys: ReadonlyMap<Scope, string>;
  /**
   * Sends a request to the listener of the endpoint. @throws where nothing is answered within
   * twenty seconds.
   */
  ask(endpoint: Pick<Endpoint, "listener">, asking: Asking): Promise<Answered>;
}

/** Long enough for a loaded machine; what takes longer hangs. */
const DEADLINE = 20_000;

export async function serve(edit?: (routes: string) => string): Promise<Served> {
  const started = await startTestServer(edit);
  const { server } = started;
  const keys = new Map<Scope, string>();
  for (const scope of SCOPES)
    keys.set(scope, await started.key("demo", [scope], { expiresAt: Date.now() + 3_600_000 }));
  const ask: Served["ask"] = async ({ listener }, { method = "GET", path, headers = {}, body }) => {
    const origin = listener === "admin" ? server.adminUrl : server.url;
    const signal = AbortSignal.timeout(DEADLINE);
    const response = await fetch(`${origin}${path}`, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { server, keys, ask };
}

/** How the endpoint learns who calls. */
export function bearer(
  { keys }: Served,
  { scopes: [scope] }: Pick<Endpoint, "scopes">,
): Readonly<Record<string, string>> {
  return scope === undefined ? {} : { authorization: `Bearer ${keys.get(scope) ?? ""}` };
}

/** The endpoint's path with values in it, and what is left of them as its query. */
export function pathOf(
  { path }: Pick<Endpoint, "path">,
  values: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(values)) {
    if (filled.includes(`{${name}}`))
      filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else query.append(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}
