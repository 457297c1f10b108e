import type { JsonObject } from "../../src/canon/json.ts";
import type { ModelOperation } from "../../src/canon/operation.ts";
import type { ProviderRow, RoutingTable } from "../../src/canon/table.ts";
import type { Router } from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";

/** One way for a caller to make the router call a provider. */
export interface Door {
  readonly name: string;
  readonly path: string;
  readonly work: ModelOperation;
  readonly dialect: string;
  readonly body: JsonObject;
}

const messages = [{ role: "user", content: "hello" }];

/** A whole answer, a stream, a translated stream, and unary work. */
export const DOORS: readonly Door[] = [
  {
    name: "chat",
    path: "/v1/chat/completions",
    work: "generate",
    dialect: "openai-chat",
    body: { messages },
  },
  {
    name: "chat, streamed",
    path: "/v1/chat/completions",
    work: "generate",
    dialect: "openai-chat",
    body: { messages, stream: true },
  },
  {
    name: "messages over chat, streamed",
    path: "/api/v1/messages",
    work: "generate",
    dialect: "openai-chat",
    body: { messages, stream: true, max_tokens: 10 },
  },
  {
    name: "embeddings",
    path: "/v1/embeddings",
    work: "embed",
    dialect: "openai-chat",
    body: { input: "hello" },
  },
];

export const STREAMED = DOORS.filter(({ body }) => body.stream === true);
export const WHOLE = DOORS.filter(({ body }) => body.stream !== true);

/** One route `r` with one endpoint at the given address. */
export function tableAt(url: string, door: Door, more: Partial<ProviderRow> = {}): RoutingTable {
  const isEmbed = door.work === "embed";
  return table({
    providers: [provider("p", { baseUrl: `${url}/v1`, dialect: door.dialect, ...more })],
    models: [
      model("m", {
        operations: [door.work],
        capabilities: [],
        ...(isEmbed ? { dimensions: [3] } : { defaultMaxOutputTokens: 100 }),
      }),
    ],
    endpoints: [endpoint("e", { provider: "p", dialect: door.dialect })],
    routes: [route("r", "e", [], { operations: [door.work] })],
    workspaces: [
      workspace("w", {
        providers: ["p"],
        contextWindow: 100_000,
        ...(isEmbed ? { dimensions: [3] } : {}),
      }),
    ],
  });
}

export function knock(
  router: Router,
  { path, body }: Door,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "r", ...body }),
  });
}
