import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { ModelOperation } from "../../canon/operation.ts";
import type { EndpointRow, RoutingTable } from "../../canon/table.ts";
import type { RunningServer, ServeOptions } from "../../server/running-server.ts";

/** The first request of a new user. */
interface DemoRequest {
  readonly workspace: string;
  /** Below the server's address. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Preferred first: most people begin with a chat. */
const REQUESTS: readonly (readonly [ModelOperation, string, Readonly<Record<string, unknown>>])[] =
  [
    ["generate", "/v1/chat/completions", { messages: [{ role: "user", content: "Hello" }] }],
    ["embed", "/v1/embeddings", { input: "Hello" }],
    ["rerank", "/v1/rerank", { query: "Hello", documents: ["Hello.", "Goodbye."] }],
    ["moderate", "/v1/moderations", { input: "Hello" }],
  ];

/**
 * A request of the workspace `demo`, else of the first workspace that approves a route; `null`
 * where none does.
 */
export function demoRequest(table: RoutingTable): DemoRequest | null {
  const others = Object.keys(table.workspaces).filter((id) => id !== "demo");
  for (const workspace of ["demo", ...others]) {
    const routes = table.workspaces[workspace]?.approve.routes ?? [];
    for (const [operation, path, body] of REQUESTS) {
      const route = routes.find((id) => servesOperation(table, id, operation));
      if (route === undefined) continue;
      const allow = allTrainOnData(table, route) ? { provider: { data_collection: "allow" } } : {};
      return { workspace, path, body: { model: route, ...body, ...allow } };
    }
  }
  return null;
}

/** Whether an endpoint of the route serves the operation. */
export function servesOperation(
  table: RoutingTable,
  route: string,
  operation: ModelOperation,
): boolean {
  return endpointsOf(table, route).some(
    ({ model }) => table.models[model]?.operations.includes(operation) === true,
  );
}

/** The primary endpoint of a route, then its fallbacks. */
export function endpointsOf(
  { routes, endpoints }: RoutingTable,
  route: string,
): readonly EndpointRow[] {
  const row = routes[route];
  const ids = row === undefined ? [] : [row.primary, ...row.fallbacks];
  return ids.flatMap((id) => endpoints[id] ?? []);
}

/**
 * Whether every provider of a route may train on requests, so that requests have to allow it.
 */
function allTrainOnData(table: RoutingTable, route: string) {
  return endpointsOf(table, route).every(
    ({ provider }) => table.providers[provider]?.trainsOnData !== false,
  );
}

export function demoText(url: string, key: string, { workspace, path, body }: DemoRequest): string {
  return `
demo key (workspace ${workspace}, one day):
  ${key}

try it:
  curl -s ${url}${path} -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'
`;
}

/** Browsers do not send the code, because it follows `#`. */
export function consoleText(
  { console }: ServeOptions,
  { url, adminUrl }: RunningServer,
  code: string,
): string {
  const origin = console === "public" ? url : adminUrl;
  return `\nthe console, signed in as its operator (the link is good once, for ten minutes):\n  ${origin}/console/#sign-in=${code}\n`;
}

/** Three folders up from `src/cli/serve` and from `dist/cli/serve` alike. */
const PACKAGE = new URL("../../..", import.meta.url);

/**
 * A command to paste: a simulation that fails, of a packaged configuration and a pull request that
 * changes it.
 *
 * @param cwd the folder that the paths are relative to
 */
export function reviewText(cwd: string): string {
  const shown = (name: string): string => {
    const path = relative(cwd, fileURLToPath(new URL(`docs/examples/${name}`, PACKAGE)));
    return path.startsWith("..") ? path : `./${path}`;
  };
  const command = import.meta.url.endsWith(".ts") ? "npm run -s signalbox --" : "npx signalbox";
  return `
review a pull request by which European data would go to the United States (it fails):
  ${command} simulate --base ${shown("eu-fallback")} --head ${shown("us-fallback")}
`;
}

/** Pages of the console to watch during `--traffic`. */
export const TRAFFIC_TEXT = `
a minute of made-up requests, as up to three workspaces. In the console:
  Overview   an outage of the first model: other endpoints answer instead
  Decisions  denials by the table, and their reasons
  Policies   what the policies in shadow would deny
  Spend      a key whose budget runs out
`;
