import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { policy } from "../../../src/cli/policy/policy.ts";
import type { CommandIo } from "../../../src/cli/terminal/command-io.ts";
import { runCommand, type Ran } from "../../keys/command.ts";

/** The requests that the fake got. */
export interface Requested {
  /** `GET /v1/policies?ended=true` */
  readonly line: string;
  readonly authorization: string | undefined;
  readonly ifMatch: string | undefined;
  readonly body: unknown;
}

export interface Reply {
  readonly status?: number;
  /** JSON, or the bytes themselves. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FakeServer {
  readonly url: string;
  readonly requested: readonly Requested[];
  /** Runs `signalbox policy …` against it. */
  run(argv: readonly string[], io?: Partial<CommandIo>): Promise<Ran>;
}

export const KEY = "sbx_production_test_only";

/**
 * A server that speaks the design and knows nothing: answers by method and path, 404 for the rest.
 * Gone when the test ends.
 */
export async function fakeServer(
  replies: Readonly<Record<string, Reply | undefined>>,
): Promise<FakeServer> {
  const requested: Requested[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const line = `${request.method} ${request.url}`;
      requested.push({
        line,
        authorization: request.headers.authorization,
        ifMatch: request.headers["if-match"],
        body: text === "" ? null : JSON.parse(text),
      });
      const reply = replies[line] ?? {
        status: 404,
        body: { error: { code: "not_found", message: "No such path." } },
      };
      response.writeHead(reply.status ?? 200, {
        "content-type": "application/json",
        ...reply.headers,
      });
      response.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    requested,
    run: (argv, io = {}) =>
      runCommand(policy, argv, {
        environment: { SIGNALBOX_KEY: KEY, SIGNALBOX_SERVER: url },
        ...io,
      }),
  };
}

export const DIGESTS = {
  r1: "1a".repeat(32),
  r2: "2b".repeat(32),
  r3: "3c".repeat(32),
  end: "ed".repeat(32),
} as const;

export function slot(revision: number, digest: string, more: JsonObject = {}): JsonObject {
  return {
    revision: `r${revision}`,
    digest,
    content: "rules",
    module_sha256: "00".repeat(32),
    since: "2026-03-02T09:00:00.000Z",
    first_seen: "2026-03-01T08:00:00.000Z",
    held: false,
    constraints: [{ name: "processed_in_eu", effect: "filter", reasons: ["REGION_NOT_IN_EU"] }],
    obligations: [{ name: "short_answers", kind: "max_output_tokens", value: 500 }],
    operations: ["chat.completions", "messages"],
    ...more,
  };
}

/** The answer to a request for a content. */
export function content(revision: number, digest: string, more: JsonObject = {}): Reply {
  return {
    body: {
      object: "policy.content",
      policy: "eu-residency",
      revision: `r${revision}`,
      digest,
      content: "rules",
      module_sha256: "00".repeat(32),
      contract: null,
      sources: [],
      ...more,
    },
  };
}

export function approval(
  keyId: string,
  roles: readonly string[] = [],
  report: JsonObject | null = null,
): JsonObject {
  return {
    by: { key_id: keyId, workspace: "platform", origin: keyId, roles: [...roles] },
    at: "2026-03-03T10:30:00.000Z",
    report,
  };
}

export const REPORT: JsonObject = {
  sha256: "ab".repeat(32),
  table_revision: "cd".repeat(32),
  complete: true,
  assertions: { passed: 5, failed: 0, waived: 1 },
  status: "verified",
  claimed_because: null,
};

/** A policy as GET /v1/policies/{id} answers; one that changes, by default. */
export function view(more: JsonObject = {}): JsonObject {
  return {
    object: "policy",
    id: "eu-residency",
    title: "Regulated workspaces stay in the European Union",
    owners: ["group:privacy"],
    state: "changing",
    mode: "enforce",
    revision: "r1",
    etag: '"v1-0123456789abcdef"',
    enforced: slot(1, DIGESTS.r1),
    candidate: slot(2, DIGESTS.r2),
    approvals: [],
    requirements: {
      approvals: 0,
      roles: [],
      self_approval: false,
      soak_seconds: 0,
      min_decisions: 0,
      no_indeterminate: true,
      report: false,
      assertions: false,
    },
    rollback_to: null,
    can_roll_back: false,
    held: [],
    withdrawn: [],
    files: { revision: "r2", digest: DIGESTS.r2 },
    drift: [],
    missing: [],
    ...more,
  };
}

/** A requirement that is not met, as a server answers it. */
export function lacking(requirement: string, message: string, fix: string): JsonObject {
  return { requirement, message, fix };
}

/** What a policy looks like for which nearly everything is required. */
export const STRICT: JsonObject = {
  approvals: [approval("k1", ["security"], REPORT)],
  requirements: {
    approvals: 2,
    roles: ["privacy", "security"],
    self_approval: false,
    soak_seconds: 604_800,
    min_decisions: 1_000,
    no_indeterminate: true,
    report: true,
    assertions: true,
  },
  missing: [
    lacking(
      "approvals",
      "2 approvals of this content (1 count)",
      "`signalbox policy approve ID`, by another person.",
    ),
    lacking(
      "roles",
      "an approver with the role privacy",
      "`signalbox policy approve ID`, by another person.",
    ),
    lacking("soak", "7d in shadow (2d 3h so far)", "Wait."),
  ],
};

export function shadow(more: JsonObject = {}): JsonObject {
  const figures = { would_deny: 37, newly_denied: 12, would_narrow: 4, indeterminate: 0 };
  return {
    object: "policy.shadow",
    policy: "eu-residency",
    revision: "r2",
    digest: DIGESTS.r2,
    since: "2026-03-02T09:00:00.000Z",
    until: "2026-03-04T12:00:00.000Z",
    judged: 1_204,
    ...figures,
    by_constraint: [{ constraint: "processed_in_eu", reason: "REGION_NOT_IN_EU", ...figures }],
    by_route: [{ route: "chat-eu", judged: 1_204, ...figures }],
    by_workspace: [
      { workspace: "shop", judged: 1_000, ...figures },
      {
        workspace: null,
        judged: 204,
        would_deny: 0,
        newly_denied: 0,
        would_narrow: 0,
        indeterminate: 0,
      },
    ],
    examples: [
      {
        constraint: "processed_in_eu",
        reason: "REGION_NOT_IN_EU",
        verdict: "fail",
        effect: "would_deny",
        requests: 9,
        first: "2026-03-02T09:10:00.000Z",
        last: "2026-03-04T11:00:00.000Z",
        request_id: "req_01",
        class: {
          workspace: "shop",
          route: "chat-eu",
          operation: "chat.completions",
          environment: "production",
          needs: [],
          features: [],
          stream: false,
          context: "to_4k",
          max_output: "unspecified",
          reasoning_effort: "unspecified",
          time: { day: "weekday", hour: "morning" },
        },
        explain: `explain --point '{"workspace":"shop","operation":"chat.completions","model":"chat-eu","context":"to_4k","time":{"day":"weekday","hour":"morning"}}'`,
      },
    ],
    looked_at: { decisions: 5_000, since: "2026-03-02T08:00:00.000Z", complete: false },
    ...more,
  };
}
