import { setTimeout as pause } from "node:timers/promises";
import type { Budget } from "../../canon/limits.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { RunningServer } from "../../server/running-server.ts";
import { endpointsOf, isServing } from "./demo.ts";
import { createDemoKey } from "./first-keys.ts";

/** Milliseconds: 240 requests in a minute stay below the limits of the example's workspaces. */
const PAUSE = 250;
const REQUESTS = 240;

/** The first workspace's key has spent it before the minute ends, with the example's prices. */
const BUDGET: Budget = { usd: 0.0075, per: "day" };

const TOOL = {
  type: "function",
  function: { name: "weather", parameters: { type: "object", properties: {} } },
};

interface Caller {
  readonly key: string;
  /** Routes for chats that the workspace approves, and those that it does not. */
  readonly routes: readonly string[];
  readonly foreign: readonly string[];
}

/**
 * Sends a minute of requests to a server whose providers are all simulated, as up to three
 * workspaces: answers, streams, tools, an outage of the first model, routes that are not approved,
 * and a key whose budget runs out.
 *
 * @returns one line for the terminal: how many requests got which status
 */
export async function sendTraffic(
  { url, store, built }: RunningServer,
  stopped: AbortSignal,
): Promise<string> {
  const { table } = built.snapshot.decider;
  const callers: Caller[] = [];
  for (const [index, workspace] of Object.keys(table.workspaces).slice(0, 3).entries()) {
    const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null };
    const { text } = await createDemoKey(store, {
      workspace,
      scopes: ["inference"],
      owner: "traffic",
      limits: index === 0 ? { ...limits, budget: BUDGET } : null,
    });
    callers.push({ key: text, ...routesOf(table, workspace) });
  }
  const { ofetch } = await import("ofetch");
  const statuses = new Map<number, number>();
  const send = async (index: number) => {
    const caller = callers[index % callers.length];
    if (caller === undefined) return;
    const answer = await ofetch.raw(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${caller.key}` },
      body: bodyOf(caller, index, table),
      responseType: "text",
      ignoreResponseError: true,
      retry: false,
      signal: stopped,
    });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  };
  const sent: Promise<void>[] = [];
  for (let index = 0; index < REQUESTS && !stopped.aborted; index++) {
    // Requests that end with the server are not counted.
    sent.push(send(index).catch(() => {}));
    await pause(PAUSE, undefined, { signal: stopped }).catch(() => {});
  }
  await Promise.all(sent);
  const counts = [...statuses].toSorted(([first], [second]) => first - second);
  return `made-up traffic: ${counts.map(([status, count]) => `${count} × ${status}`).join(", ")}`;
}

function routesOf(table: RoutingTable, workspace: string) {
  const chats = Object.keys(table.routes).filter((id) => isServing(table, id, "generate"));
  const approved = new Set(table.workspaces[workspace]?.approve.routes);
  return {
    routes: chats.filter((id) => approved.has(id)),
    foreign: chats.filter((id) => !approved.has(id)),
  };
}

/** Nine of twelve requests are plain; the others are events for an operator to find. */
function bodyOf({ routes, foreign }: Caller, index: number, table: RoutingTable): object {
  const turn = Math.floor(index / 3) % 12;
  const route = routes[index % Math.min(2, routes.length)] ?? "";
  const [first] = endpointsOf(table, route);
  const chat = (model: string, text: string, more: object = {}): object => ({
    model,
    messages: [{ role: "user", content: text }],
    // Reserved until the answer is counted.
    max_tokens: 300,
    ...more,
  });
  if (turn === 3) return chat(foreign[0] ?? route, "A route that is not approved.");
  if (turn === 6) return chat(route, "What is the weather?", { tools: [TOOL] });
  if (turn === 9) return chat(route, `An outage. [x-mock ${first?.upstreamModel ?? ""}: 503]`);
  return chat(route, "Write a page. [x-mock: size=4kB; first-byte=80ms]", {
    stream: turn % 2 === 0,
  });
}
