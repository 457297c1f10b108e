import { DEFAULT_PROMOTION, type PromotionRequirements } from "../../src/canon/table.ts";
import { promotion, rollback } from "../../src/lifecycle/changes.ts";
import { createHash } from "node:crypto";
import {
  entityTag,
  referenceOf,
  type Expectation,
  type FileContent,
  type PolicyLifecycle,
  type PolicyStatus,
  type Verdict,
} from "../../src/lifecycle/lifecycle.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import type { Actor, ShadowFigures } from "../../src/lifecycle/records.ts";
import { MemoryPolicyLog } from "./memory-log.ts";

export const TABLE = "table-1";

export const NOTHING_REQUIRED: PromotionRequirements = {
  ...DEFAULT_PROMOTION,
  noIndeterminate: false,
};

/** Digest of a content that a test calls by a letter. */
export const digestOf = (name: string): string => createHash("sha256").update(name).digest("hex");

export function actor(keyId: string, more: Partial<Actor> = {}): Actor {
  return {
    keyId,
    workspace: "platform",
    origin: keyId,
    roles: [],
    requestId: `req_${keyId}`,
    ...more,
  };
}

/** With the bytes that stand for its module. */
export interface NamedContent extends FileContent {
  readonly bytes?: Uint8Array;
}

export function file(
  policy: string,
  name: string,
  initialMode: FileContent["initialMode"] = "shadow",
): NamedContent {
  const bytes = Buffer.from(`module of ${name}`);
  return {
    policy,
    digest: digestOf(name),
    module: digestOf(`module of ${name}`),
    initialMode,
    bytes,
  };
}

/** A lifecycle over a log in memory with a clock that tests move. */
export class LifecycleContext {
  readonly log: MemoryPolicyLog;
  readonly lifecycle: PolicyLifecycle;
  readonly #time: { now: number };
  figures: ShadowFigures = {
    since: 0,
    judged: 0,
    wouldDeny: 0,
    newlyDenied: 0,
    wouldNarrow: 0,
    indeterminate: 0,
  };

  private constructor(log: MemoryPolicyLog, lifecycle: PolicyLifecycle, time: { now: number }) {
    this.log = log;
    this.lifecycle = lifecycle;
    this.#time = time;
  }

  static async open(
    log = new MemoryPolicyLog(),
    time = { now: 1_000_000 },
  ): Promise<LifecycleContext> {
    return new LifecycleContext(log, await openLifecycle(log, () => time.now), time);
  }

  /** Another process over the same log. */
  another(): Promise<LifecycleContext> {
    return LifecycleContext.open(this.log, this.#time);
  }

  pass(milliseconds: number): void {
    this.#time.now += milliseconds;
  }

  async observe(
    contents: readonly NamedContent[],
    occasion: "start" | "reload" = "start",
  ): Promise<void> {
    for (const { policy, digest, bytes = new Uint8Array() } of contents) {
      await this.log.keep({ policy, digest, description: "{}", module: bytes });
    }
    await this.lifecycle.observe(contents, occasion, TABLE);
  }

  status(policy: string): PolicyStatus {
    const status = this.lifecycle.states.policies.get(policy);
    if (status === undefined) throw new Error(`no policy ${policy}`);
    return status;
  }

  /** What stands where: `r2`, or `-` for nothing; enforced first. */
  slots(policy: string): string {
    const status = this.status(policy);
    const name = (slot: "enforced" | "candidate"): string => {
      const reference = referenceOf(status, slot);
      if (reference === null) return "-";
      return `${status.contents.get(reference.digest)?.content === "removal" ? "end" : "r"}${reference.revision}`;
    };
    return `${name("enforced")} ${name("candidate")}`;
  }

  expected(policy: string): Expectation {
    return { etag: entityTag(this.status(policy)) };
  }

  promote(
    policy: string,
    by = actor("alice"),
    requirements: Partial<PromotionRequirements> = {},
    expected: Expectation = this.expected(policy),
  ): Promise<Verdict> {
    return this.lifecycle.change(
      promotion({
        policy,
        expected,
        by,
        requirements: { ...NOTHING_REQUIRED, ...requirements },
        revoked: new Set(),
        tableRevision: TABLE,
        figures: () => Promise.resolve(this.figures),
      }),
    );
  }

  rollBack(
    policy: string,
    toRevision?: number | null,
    expected: Expectation = this.expected(policy),
  ): Promise<Verdict> {
    return this.lifecycle.change(
      rollback({
        policy,
        expected,
        by: actor("olga"),
        tableRevision: TABLE,
        reason: "wrong_denials",
        toRevision,
      }),
    );
  }
}
