import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { contentRelease, promotion, rollback } from "../../../src/lifecycle/changes.ts";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { startServer } from "../../../src/server/start.ts";
import type { RunningServer } from "../../../src/server/running-server.ts";
import type { CompileCache } from "../../../src/policy/toolchain/compile-cache.ts";
import { createKey } from "../../../src/keys/key-record.ts";
import { entityTag, isFault, type Verdict } from "../../../src/lifecycle/lifecycle.ts";
import { actor, NOTHING_REQUIRED } from "../../lifecycle/lifecycle-context.ts";
import { policySource } from "../../policy/samples.ts";
import { TEST_CACHE } from "../../support/cache.ts";

/** Rules of the policy `gate`: what lets a request pass. Each is a content of its own. */
export const RULES = {
  everything: "pass.open if input.operation",
  streams: "pass.open if input.request.stream",
  nothing: "pass.open if not input.operation",
  /** 30 to the power of six combinations: minutes without a bound. */
  endless: [
    `texts := ${JSON.stringify(Array.from({ length: 30 }, (_, index) => `text ${index}`))}`,
    "",
    "pass.open if {",
    ...["a", "b", "c", "d", "e", "f"].map((name) => `\tsome ${name} in texts`),
    '\tconcat("", [a, b, c, d, e, f]) == input.request.max_output',
    "}",
  ].join("\n"),
} as const;
export type Rules = keyof typeof RULES;

function routes(initialMode: "shadow" | "enforce"): object {
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: {
      p: {
        dialect: "openai-chat",
        base_url: "https://provider.example/v1",
        region: "global",
        auth: { bearer: { env: "ABSENT" }, on_missing_secret: "simulate" },
        retention: "none",
        trains_on_data: false,
      },
    },
    models: {
      m: {
        operations: ["generate"],
        context_window: 20_000,
        max_output_tokens: 1_000,
        capabilities: [],
      },
    },
    endpoints: [{ id: "e", model: "m", provider: "p", upstream_model: "upstream" }],
    routes: { r: { primary: "e" } },
    policies: { dir: "policies", initial_mode: { "*": initialMode } },
    workspaces: {
      w: {
        tier: "t",
        approve: {
          routes: ["r"],
          regions: ["world"],
          providers: ["p"],
          capabilities: [],
          context_window: 20_000,
        },
      },
    },
  };
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  /** Of the decision. */
  readonly requestId: string;
}

/** One folder of files with a server over it; the database may be another's too. */
export class Replica {
  readonly folder: string;
  readonly database: string;
  readonly server: RunningServer;
  readonly #key: string;

  private constructor(folder: string, database: string, server: RunningServer, key: string) {
    this.folder = folder;
    this.database = database;
    this.server = server;
    this.#key = key;
  }

  /** @param gate rules of the policy `gate`; `null` for none. */
  static async start(
    gate: Rules | null,
    {
      database = "",
      initialMode = "enforce",
      cache = TEST_CACHE,
    }: { database?: string; initialMode?: "shadow" | "enforce"; cache?: CompileCache | null } = {},
  ): Promise<Replica> {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-policies-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "policies"));
    writeFileSync(join(folder, "routes.yaml"), JSON.stringify(routes(initialMode)));
    // A folder without policies at all would be one that is not mounted yet.
    writePolicy(folder, "other", "everything");
    writePolicy(folder, "gate", gate);
    return await Replica.over(
      folder,
      database === "" ? join(folder, "signalbox.db") : database,
      cache,
    );
  }

  /** @throws as `startServer` does. */
  static async over(
    folder: string,
    database: string,
    cache: CompileCache | null = TEST_CACHE,
  ): Promise<Replica> {
    const started = await startServer(
      {
        config: join(folder, "routes.yaml"),
        database,
        host: "127.0.0.1",
        port: 0,
        adminHost: "127.0.0.1",
        adminPort: 0,
        demo: false,
        drain: 2_000,
        watch: false,
        cache,
      },
      {},
      "0.0.0-test",
    );
    if (!started.ok)
      throw new Error(`the configuration has errors: ${JSON.stringify(started.diagnostics)}`);
    const { server } = started;
    onTestFinished(() => server.close());
    const made = createKey(
      {
        workspace: "w",
        scopes: ["inference", "route:simulate"],
        owner: "test",
        environment: "production",
        expiresAt: Date.now() + 600_000,
        createdBy: "test",
      },
      Date.now,
      randomBytes,
    );
    await server.store.keys.create(made.record);
    return new Replica(folder, database, server, made.text);
  }

  async restart(): Promise<Replica> {
    await this.server.close();
    return await Replica.over(this.folder, this.database);
  }

  write(gate: Rules | null): void {
    writePolicy(this.folder, "gate", gate);
  }

  /** @param more members of the request besides the least that it needs. */
  async ask(stream = false, more: object = {}): Promise<Answered> {
    const response = await this.#post("/v1/chat/completions", {
      model: "r",
      stream,
      messages: [{ role: "user", content: "Hello" }],
      ...more,
    });
    const requestId = response.headers.get("x-request-id") ?? "";
    return { status: response.status, text: await response.text(), requestId };
  }

  /** What a plain request would come to, and why. */
  async simulate(): Promise<JsonObject> {
    const response = await this.#post("/v1/route/simulate?operation=chat.completions", {
      model: "r",
    });
    return (await response.json()) as JsonObject;
  }

  async status(): Promise<JsonObject> {
    return (await (await fetch(`${this.server.url}/status`)).json()) as JsonObject;
  }

  /** Id of the set that decides. */
  async policySet(): Promise<string> {
    const { policy_set: set } = await this.status();
    if (typeof set !== "string") throw new Error("/status names no set");
    return set;
  }

  /** Which revisions of `gate` stand where. */
  async slots(): Promise<unknown> {
    const { policy_revisions: revisions } = await this.status();
    const { gate = {} } = revisions as Record<string, Record<string, { revision: string }>>;
    return Object.fromEntries(Object.entries(gate).map(([slot, { revision }]) => [slot, revision]));
  }

  /** As a handler does it: the log first, then this process, then the answer. */
  async promote(policy = "gate"): Promise<void> {
    const { lifecycle, apply } = this.server.policies;
    const figures = {
      since: 0,
      judged: 1,
      wouldDeny: 0,
      newlyDenied: 0,
      wouldNarrow: 0,
      indeterminate: 0,
    };
    const done = await lifecycle.change(
      promotion({
        policy,
        expected: { etag: await this.#etag(policy) },
        by: actor("somebody"),
        requirements: NOTHING_REQUIRED,
        revoked: new Set(),
        tableRevision: "t",
        figures: () => Promise.resolve(figures),
      }),
    );
    refuseFault(done);
    await apply();
  }

  /** @param lifecycle another one over the same log. */
  async rollBack(policy = "gate", lifecycle = this.server.policies.lifecycle): Promise<void> {
    const { apply } = this.server.policies;
    const expected = { etag: await this.#etag(policy) };
    const by = actor("somebody");
    refuseFault(
      await lifecycle.change(
        rollback({ policy, expected, by, tableRevision: "t", reason: "mistake" }),
      ),
    );
    await apply();
  }

  /** Releases the candidate, which was rolled back. */
  async release(policy = "gate"): Promise<void> {
    const { lifecycle } = this.server.policies;
    const digest = lifecycle.states.policies.get(policy)?.candidate?.digest ?? "";
    refuseFault(
      await lifecycle.change(
        contentRelease({
          policy,
          digest,
          expected: { etag: await this.#etag(policy) },
          by: actor("somebody"),
        }),
      ),
    );
  }

  async #etag(policy: string): Promise<string> {
    const line = (await this.server.policies.lifecycle.refresh()).policies.get(policy);
    if (line === undefined) throw new Error(`no policy ${policy}`);
    return entityTag(line);
  }

  #post(path: string, body: object): Promise<Response> {
    return fetch(`${this.server.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }
}

function writePolicy(folder: string, id: string, rules: Rules | null): void {
  const path = join(folder, "policies", `${id}.rego`);
  if (rules === null) return rmSync(path, { force: true });
  const source = policySource(id, { open: "{effect: gate, reasons: [GATE_CLOSED]}" }, RULES[rules]);
  writeFileSync(path, source.text);
}

function refuseFault(done: Verdict): void {
  if (done !== null && isFault(done)) throw new Error(`not done: ${JSON.stringify(done)}`);
}
