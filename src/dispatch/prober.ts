import type { EndpointRow, ProviderRow, RoutingTable } from "../canon/table.ts";
import type { Connection } from "./connections.ts";
import type { EndpointTracker } from "./endpoint-tracker.ts";

/** What probes are made with: the table and the connections in force now. */
interface ProbeGround {
  readonly table: RoutingTable;
  readonly connections: ReadonlyMap<string, Connection>;
}

/** How often due probes are looked for, milliseconds: the shortest interval that a row can have. */
const LOOK = 1_000;

/** Longest time that a probe may take, milliseconds. */
const PROBE_TIME = 5_000;

/**
 * Probes endpoints that are out of service and whose provider has a `health.probe`. Any answer
 * below 500 means that the provider is back; its body is not read.
 *
 * @param ground gives what is in force now. @returns stops the probes.
 */
export function startProber(endpoints: EndpointTracker, ground: () => ProbeGround): () => void {
  const timer = setInterval(() => {
    for (const endpointId of endpoints.takeProbes(performance.now())) {
      void probe(ground(), endpointId).then((isThere) =>
        endpoints.probed(endpointId, isThere, performance.now()),
      );
    }
  }, LOOK);
  // A process that has nothing else to do may end.
  timer.unref();
  return () => clearInterval(timer);
}

/** Never rejects: any error means that the provider is not back. */
async function probe({ table, connections }: ProbeGround, endpointId: string): Promise<boolean> {
  const endpoint: EndpointRow | undefined = table.endpoints[endpointId];
  const provider: ProviderRow | undefined =
    endpoint === undefined ? undefined : table.providers[endpoint.provider];
  const path = provider?.health.probe?.path;
  const connection = provider === undefined ? undefined : connections.get(provider.id);
  if (provider === undefined || path === undefined || connection === undefined) return false;
  try {
    // Loaded with the first probe: most configurations have none.
    const { createFetch } = await import("ofetch");
    const call = createFetch({ fetch: fetchOver(connection, path) });
    const headers = await credentials(connection, path);
    const { status } = await call.raw(connection.origin, {
      headers,
      retry: 0,
      ignoreResponseError: true,
    });
    return status < 500;
  } catch {
    return false;
  }
}

/**
 * `fetch` of one path through the provider's own connections, so that a probe reaches no further
 * than a call, and follows no redirect. undici's own `fetch` would add the headers of a browser,
 * and refuse ports that calls may use.
 */
function fetchOver({ dispatcher, pathPrefix }: Connection, path: string): typeof fetch {
  return async (_origin, { headers } = {}) => {
    const { statusCode, body } = await dispatcher.request({
      path: `${pathPrefix}${path}`,
      method: "GET",
      headers: new Headers(headers),
      signal: AbortSignal.timeout(PROBE_TIME),
    });
    // Neither read nor parsed: it may be anything, and of any size.
    body.on("error", () => {}).destroy();
    return new Response(null, { status: statusCode });
  };
}

async function credentials(connection: Connection, path: string): Promise<[string, string][]> {
  const own = pairs(connection.headers).filter(([name]) => !UNSENT.has(name));
  if (connection.authorize === undefined) return own;
  const request = {
    method: "GET",
    path: `${connection.pathPrefix}${path}`,
    headers: [],
    body: "",
  } as const;
  return [...own, ...pairs(await connection.authorize(request))];
}

/** What belongs to a request with a body. */
const UNSENT: ReadonlySet<string> = new Set(["content-type", "accept-encoding"]);

function pairs(flat: readonly string[]): [string, string][] {
  const made: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2)
    made.push([flat[index] ?? "", flat[index + 1] ?? ""]);
  return made;
}
