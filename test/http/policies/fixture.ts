import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { ConsoleSettings, RoutingTable } from "../../../src/canon/table.ts";
import type { PolicyContract } from "../../../src/canon/policy.ts";
import { DEFAULT_PROMOTION, type PromotionRequirements } from "../../../src/canon/table.ts";
import type { Scope } from "../../../src/canon/identity.ts";
import { cellOf } from "../../governance/cell-of.ts";
import type { Counter } from "../../../src/governance/cell.ts";
import type { RollUpQuery, RollUpRow } from "../../../src/governance/increments.ts";
import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import type {
  KeptContent,
  PolicyAdministration,
  PromotionSimulation,
  PromotionSimulationFault,
} from "../../../src/http/control/policies/administration.ts";
import { SummaryTurns } from "../../../src/http/control/governance-summary.ts";
import type { Runtime } from "../../../src/http/runtime.ts";
import { manageKeys } from "../../../src/keys/key-management.ts";
import { createKey } from "../../../src/keys/key-record.ts";
import { openKeyRing } from "../../../src/keys/key-ring.ts";
import type {
  FileContent,
  PolicyLifecycle,
  PolicyStatus,
} from "../../../src/lifecycle/lifecycle.ts";
import { openLifecycle } from "../../../src/lifecycle/open-lifecycle.ts";
import { StoreUnavailableError } from "../../../src/canon/error.ts";
import type { PolicyLogRow } from "../../../src/lifecycle/records.ts";
import type { Store } from "../../../src/store/port.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { MemoryPolicyLog } from "../../lifecycle/memory-log.ts";
import { digestOf, file } from "../../lifecycle/lifecycle-context.ts";
import { whenFileEnds } from "../../support/file-end.ts";
import { startRouter, type Router } from "../../support/router.ts";
import { table, workspace } from "../../support/table.ts";

/** The log in memory, with a switch that takes it away. */
class AwayLog extends MemoryPolicyLog {
  isAway = false;
  /** Appends fail, reads do not. */
  isReadOnly = false;

  override read(query: {
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly PolicyLogRow[]> {
    return this.isAway ? away() : super.read(query);
  }

  override append(...parameters: Parameters<MemoryPolicyLog["append"]>): Promise<boolean> {
    return this.isAway || this.isReadOnly ? away() : super.append(...parameters);
  }
}

function away(): Promise<never> {
  return Promise.reject(new StoreUnavailableError("the secret path of the database"));
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at member by member
  readonly json: any;
}

export interface MadeKey {
  readonly text: string;
  readonly id: string;
}

interface Requested {
  readonly body?: unknown;
  readonly ifMatch?: string;
}

/** The report in the body of an approval. */
export interface ReportBody {
  readonly sha256: string;
  readonly table_revision: string;
  readonly complete: boolean;
  readonly assertions: {
    readonly passed: number;
    readonly failed: number;
    readonly waived: number;
  };
}

export interface FixtureOptions {
  readonly promotion?: Readonly<Record<string, Partial<PromotionRequirements>>>;
  /** Both workspaces unless given; `null`: routes.yaml does not say. */
  readonly managedBy?: readonly string[] | null;
  readonly runtime?: Partial<Runtime>;
  readonly console?: ConsoleSettings;
}

/**
 * A server over real sockets with real keys and the lifecycle over a log in memory: policies
 * without rules, contents without bytes.
 */
export class Fixture {
  readonly log: AwayLog;
  readonly store: Store;
  readonly router: Router;
  readonly lifecycle: PolicyLifecycle;
  readonly files: Map<string, string>;
  /** Counts of shadow by policy and revision, such as `a r2`. */
  readonly counts: Map<string, Partial<Record<Counter, number>>>;
  readonly steps: string[];
  /**
   * The server's own simulations, by the digest that would be promoted; none can be made unless it
   * is set.
   */
  readonly simulations: Map<string, PromotionSimulation | PromotionSimulationFault>;
  #now = 0;

  private constructor(
    parts: Pick<
      Fixture,
      "log" | "store" | "router" | "lifecycle" | "files" | "counts" | "steps" | "simulations"
    >,
  ) {
    this.log = parts.log;
    this.store = parts.store;
    this.router = parts.router;
    this.lifecycle = parts.lifecycle;
    this.files = parts.files;
    this.counts = parts.counts;
    this.steps = parts.steps;
    this.simulations = parts.simulations;
  }

  static async open(options: FixtureOptions = {}): Promise<Fixture> {
    const made: { fixture: Fixture | null } = { fixture: null };
    const store = await openSqliteStore({ path: ":memory:" });
    whenFileEnds(() => store.close());
    const ring = await openKeyRing(store.keys);
    whenFileEnds(ring.close);
    const files = new Map<string, string>();
    const counts = new Map<string, Partial<Record<Counter, number>>>();
    const steps: string[] = [];
    const simulations = new Map<string, PromotionSimulation | PromotionSimulationFault>();
    const log = new AwayLog();
    const lifecycle = await openLifecycle(log, () => Date.now() + (made.fixture?.offset ?? 0));
    const policies: PolicyAdministration = {
      lifecycle,
      apply: () => {
        steps.push("applied");
        return Promise.resolve();
      },
      content: (digest) => (log.isAway ? away() : Promise.resolve(contents.get(digest) ?? null)),
      // Contents of this fixture have no rules that a simulation could ask.
      simulate: (_, digest) => Promise.resolve(simulations.get(digest) ?? "too_large"),
      files: () => files,
      suspended: () => [],
      differing: () => new Set(),
      rows: (query) => log.read(query),
      shadow: {
        read: (query) => countedRows(query, counts),
        workspaces: () => (log.isAway ? away() : Promise.resolve(["acme", "office"])),
        evidence: { head: () => Promise.resolve({ position: 0 }), log: () => Promise.resolve([]) },
        turns: new SummaryTurns(),
      },
    };
    const router = await startRouter({
      table: fixtureTable(options),
      runtime: {
        verify: (token, now) => ring.verify(token, now),
        lookUp: ring.lookUp,
        keys: manageKeys(store.keys, Date.now, randomBytes),
        policies,
        ...options.runtime,
      },
    });
    const fixture = new Fixture({
      log,
      store,
      router,
      lifecycle,
      files,
      counts,
      steps,
      simulations,
    });
    made.fixture = fixture;
    return fixture;
  }

  /** Milliseconds that the log's clock is behind. */
  get offset(): number {
    return -this.#now;
  }

  /** What is observed from now on has happened so many milliseconds ago. */
  ago(milliseconds: number): this {
    this.#now = milliseconds;
    return this;
  }

  /**
   * Files of the server as it starts, or reloads: `a: "first"` is the policy `a` with the content
   * `first`.
   */
  async observe(
    policies: Readonly<Record<string, string>>,
    occasion: "start" | "reload" = "reload",
    initialMode: FileContent["initialMode"] = "shadow",
  ): Promise<void> {
    const contentsOfFiles = Object.entries(policies).map(([id, name]) =>
      file(id, name, initialMode),
    );
    this.files.clear();
    for (const { policy, digest, bytes = new Uint8Array() } of contentsOfFiles) {
      contents.set(digest, keptContent(policy, digest));
      await this.log.keep({ policy, digest, description: "{}", module: bytes });
      this.files.set(policy, digest);
    }
    await this.lifecycle.observe(contentsOfFiles, occasion, "table-0");
  }

  status(policy: string): PolicyStatus {
    const status = this.lifecycle.states.policies.get(policy);
    if (status === undefined) throw new Error(`no policy ${policy}`);
    return status;
  }

  /** A key as one made at the terminal. */
  async key(
    workspaceId = "acme",
    scopes: readonly Scope[] = ["operations:manage"],
    labels: readonly string[] = [],
  ): Promise<MadeKey> {
    const made = createKey(
      {
        workspace: workspaceId,
        scopes,
        labels,
        owner: "test",
        expiresAt: Date.now() + 600_000,
        createdBy: "cli",
      },
      Date.now,
      randomBytes,
    );
    await this.store.keys.create(made.record);
    return { text: made.text, id: made.record.id };
  }

  async get(key: MadeKey, path: string): Promise<Answered> {
    return this.#ask(key, "GET", path, {});
  }

  async post(key: MadeKey, path: string, requested: Requested = {}): Promise<Answered> {
    return this.#ask(key, "POST", path, requested);
  }

  /**
   * Lets the server's own simulation of a content be what the body of an approval says of its
   * report.
   */
  simulate(name: string, report: ReportBody, enforced: string | null = null): void {
    const { sha256, table_revision: tableRevision, complete, assertions } = report;
    this.simulations.set(digestOf(name), {
      text: "{}",
      sha256,
      tableRevision,
      complete,
      assertions,
      enforced,
    });
  }

  /** The change with the entity tag and the revisions as they are now. */
  async change(
    key: MadeKey,
    policy: string,
    what: "promotions" | "rollbacks",
    body: object = {},
  ): Promise<Answered> {
    const { json } = await this.get(key, `/v1/policies/${policy}`);
    const expected = {
      enforced_revision: json.enforced?.revision ?? null,
      ...(what === "promotions" && { candidate_revision: json.candidate?.revision ?? "r1" }),
    };
    return this.post(key, `/v1/policies/${policy}/${what}`, {
      ifMatch: json.etag,
      body: { expected, ...body },
    });
  }

  async #ask(
    { text }: MadeKey,
    method: "GET" | "POST",
    path: string,
    { body, ifMatch }: Requested,
  ): Promise<Answered> {
    const response = await fetch(`${this.router.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${text}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(ifMatch !== undefined && { "if-match": ifMatch }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const answer = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text: answer,
      json: JSON.parse(answer),
    };
  }
}

/** By digest, of all fixtures of a file. */
const contents = new Map<string, KeptContent>();

function fixtureTable({
  promotion,
  managedBy = ["acme", "office"],
  console,
}: FixtureOptions): RoutingTable {
  const fixture = table({ workspaces: [workspace("acme"), workspace("office")] });
  const rows = Object.entries(promotion ?? {}).map(([id, row]) => [
    id,
    { ...DEFAULT_PROMOTION, ...row },
  ]);
  return {
    ...fixture,
    vocabulary: { ...fixture.vocabulary, labels: ["dpo", "risk", "security", "x"] },
    revision: digestOf("table"),
    ...(console !== undefined && { console }),
    policies: {
      dir: "policies",
      initialMode: {},
      ...(promotion !== undefined && { promotion: Object.fromEntries(rows) }),
      ...(managedBy !== null && { managedBy }),
    },
  };
}

export function contractOf(policy: string): PolicyContract {
  return {
    contract: 1,
    id: policy,
    title: `Title of ${policy}`,
    owners: ["group:governance"],
    operations: ["chat.completions"],
    constraints: [{ name: "in_region", effect: "require_all", reasons: ["OUTSIDE", "UNKNOWN"] }],
    obligations: [{ name: "short", kind: "max_output_tokens", value: 100 }],
  };
}

function keptContent(policy: string, digest: string): KeptContent {
  const sources = [
    { package: `policies.${policy}`, source: `package policies.${policy} # ${digest}\n` },
  ];
  return {
    digest,
    moduleSha256: digestOf(`module of ${digest}`),
    contract: contractOf(policy),
    sources,
  };
}

async function* countedRows(
  { workspace: requested, facet, from }: RollUpQuery,
  counts: ReadonlyMap<string, Partial<Record<Counter, number>>>,
): AsyncGenerator<readonly RollUpRow[]> {
  if (facet !== "shadow" || requested !== "acme") return;
  yield [...counts].map(([name, amounts]) => {
    const cell = cellOf(amounts).encode();
    return {
      workspace: requested,
      facet,
      hour: from,
      labels: JSON.stringify(name.split(" ")),
      cell,
    };
  });
}

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const validators = new Map<string, ValidateFunction>();

/** That a 200 answer is what /openapi.json says of the endpoint. */
export function expectDeclared(method: "GET" | "POST", path: string, json: unknown): void {
  const endpoint = ENDPOINTS.find((row) => row.method === method && row.path === path);
  if (endpoint === undefined) throw new Error(`no endpoint ${method} ${path}`);
  const validate = validators.get(endpoint.id) ?? ajv.compile(endpoint.answer);
  validators.set(endpoint.id, validate);
  expect(validate(json) ? null : validate.errors).toBeNull();
}
