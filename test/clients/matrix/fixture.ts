import { startTestServer } from "../../support/server.ts";
import { startScriptedProvider, type ScriptedProvider } from "./scripted/provider.ts";
import type { Protocol } from "./scripted/turns.ts";

/** What each workspace is for. */
export type WorkspaceName =
  /** Everything is approved, and nothing is limited. */
  | "everything"
  /** A policy denies it every provider, because all of them keep data. */
  | "regulated"
  /** Its budget is spent. */
  | "spent"
  /** Each of its keys may have one request under way. */
  | "single";

/** A router over the scripted provider. */
export interface MatrixFixture {
  /** Root of the router, without a path. */
  readonly url: string;
  readonly provider: ScriptedProvider;
  /** Makes a key of a workspace. */
  readonly key: (workspace: WorkspaceName) => Promise<string>;
}

/** Route of the requests that spend the budget. */
const SPENDING = "spending";

/**
 * @param over protocol of the endpoint behind every route.
 * @param routes their names, which are also the names that the provider sees.
 */
export async function startMatrixFixture(
  over: Protocol,
  routes: readonly string[],
): Promise<MatrixFixture> {
  const provider = await startScriptedProvider();
  const test = await startTestServer(() => JSON.stringify(routesFile(provider.url, over, routes)));
  const key = (name: WorkspaceName): Promise<string> =>
    test.key(name, ["inference", "catalogue:read"], { expiresAt: Date.now() + 3_600_000 });
  provider.play(SPENDING, "expensive");
  await spend(test.server.url, await key("spent"));
  return { url: test.server.url, provider, key };
}

/** Sends a plain request. @returns the status. */
export async function askPlainly(url: string, key: string, model: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: "user", content: "hello" }] }),
  });
  await answer.text();
  return answer.status;
}

/** The answer's tokens are counted when it has ended, so the second request may come too early. */
async function spend(url: string, key: string): Promise<void> {
  for (let requested = 0; requested < 100; requested += 1)
    if ((await askPlainly(url, key, SPENDING)) === 402) return;
  throw new Error("the budget was not spent");
}

const DIALECTS = {
  chat: "openai-chat",
  responses: "openai-responses",
  messages: "anthropic-messages",
} as const;

const CAPABILITIES = [
  "tools",
  "json_schema",
  "image_input",
  "file_input",
  "reasoning",
  "web_search",
];

function routesFile(url: string, over: Protocol, names: readonly string[]): object {
  const routes = [...names, SPENDING];
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: { scripted: providerRow(url, over) },
    models: { scripted: modelRow(over) },
    endpoints: routes.map((name) => ({
      id: `${name}-endpoint`,
      model: "scripted",
      provider: "scripted",
      upstream_model: name,
      price: { input: 1, output: 1 },
    })),
    routes: Object.fromEntries(routes.map((name) => [name, { primary: `${name}-endpoint` }])),
    workspaces: {
      everything: workspaceRow("standard", routes),
      regulated: workspaceRow("regulated", routes),
      spent: workspaceRow("standard", routes, { budget: { tokens: 1_000_000, per: "month" } }),
      single: workspaceRow("standard", routes, { per_key: { concurrency: 1 } }),
    },
    policies: { dir: "policies", initial_mode: { "data-retention": "enforce", "*": "shadow" } },
  };
}

function providerRow(url: string, over: Protocol): object {
  return {
    dialect: DIALECTS[over],
    base_url: over === "messages" ? url : `${url}/v1`,
    network: "private",
    region: "global",
    auth: "none",
    retention: "days_30",
    trains_on_data: false,
  };
}

function modelRow(over: Protocol): object {
  return {
    operations: ["generate"],
    context_window: 400_000,
    max_output_tokens: 128_000,
    default_max_output_tokens: 16_000,
    capabilities:
      over === "messages" ? CAPABILITIES : [...CAPABILITIES, "custom_tools", "json_object"],
    reasoning: { efforts: ["low", "medium", "high"] },
    ...(over === "chat" ? {} : { signature_family: over }),
  };
}

function workspaceRow(tier: string, routes: readonly string[], limits?: object): object {
  const capabilities = [...CAPABILITIES, "custom_tools", "json_object"];
  const approve = { routes, regions: ["world"], providers: ["scripted"], capabilities };
  return { tier, approve, ...(limits === undefined ? {} : { limits }) };
}
