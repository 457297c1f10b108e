import type { DecisionFields, OutcomeFields } from "../evidence-batch.ts";
import type { Abandoned, StoredBatch } from "../batch/lines.ts";
import type { Door } from "./shared/door.ts";
import type { LimitLease, LimitLeased, LimitUsage } from "../../limits/limit-store.ts";
import type {
  IssuerRecord,
  KeyGrants,
  KeyPageQuery,
  KeyRecord,
  KeyUse,
} from "../../keys/key-store.ts";
import type { PolicyLogRow } from "../../lifecycle/records.ts";
import type { StoredContent } from "../../canon/policy.ts";
import type { PackedRows } from "./roll-up-pages.ts";
import type { RollUpQuery } from "../../governance/increments.ts";
import type {
  EvidenceAnchor,
  EvidenceHead,
  EvidenceProcess,
  NotedHead,
  EvidenceFault,
} from "../../evidence/evidence-store.ts";
import type { ChainLink } from "../../evidence/chain.ts";
import type { SessionReply, SessionRequest } from "./tables/session-table.ts";

/** Given to the worker thread when it starts. */
export interface WorkerStart {
  readonly path: string;
  /** Milliseconds. */
  readonly busyTimeout: number;
  /** Nothing of the file changes; whatever would write fails. */
  readonly readOnly?: boolean;
  /** Opening fails where the log ends before the head that a server noted beside the file. */
  readonly refuseCutEnd?: boolean;
  /** Where other processes reach the thread; nowhere where absent. */
  readonly door?: Door;
}

/** The calls of the main thread to the worker. */
export type StoreRequest =
  | { readonly operation: "keys.create"; readonly record: KeyRecord }
  | { readonly operation: "keys.get"; readonly id: string }
  | { readonly operation: "keys.list"; readonly workspace: string | null }
  | { readonly operation: "keys.page"; readonly query: KeyPageQuery }
  | {
      readonly operation: "keys.count_active";
      readonly workspace: string;
      readonly now: number;
      readonly most: number;
    }
  | { readonly operation: "keys.revoke"; readonly id: string; readonly at: number }
  | { readonly operation: "keys.change"; readonly id: string; readonly grants: KeyGrants }
  | {
      readonly operation: "keys.rotate";
      readonly id: string;
      readonly replacement: KeyRecord;
      readonly expiresAt: number;
    }
  | { readonly operation: "keys.touch"; readonly uses: readonly KeyUse[] }
  | { readonly operation: "keys.watch" }
  | {
      readonly operation: "evidence.append";
      readonly decisions: Readonly<DecisionFields>;
      readonly outcomes: Readonly<OutcomeFields>;
    }
  | { readonly operation: "evidence.batches"; readonly query: BatchQuery }
  | { readonly operation: "evidence.find"; readonly requestId: string }
  | { readonly operation: "evidence.position"; readonly requestId: string }
  | { readonly operation: "evidence.head" }
  | { readonly operation: "evidence.noted_head" }
  | { readonly operation: "evidence.open" }
  | { readonly operation: "evidence.processes" }
  | { readonly operation: "evidence.anchors" }
  | { readonly operation: "evidence.anchor"; readonly now: number }
  | { readonly operation: "evidence.reap"; readonly limit: number }
  | {
      readonly operation: "evidence.delete";
      readonly through: number;
      readonly limit: number;
      readonly now: number;
    }
  | { readonly operation: "summary.read"; readonly page: RollUpPage }
  | { readonly operation: "summary.workspaces" }
  | { readonly operation: "policy_log.head" }
  | { readonly operation: "policy_log.read"; readonly after: number; readonly limit: number }
  | {
      readonly operation: "policy_log.append";
      readonly expected: ChainLink;
      readonly rows: readonly PolicyLogRow[];
    }
  | { readonly operation: "policy_log.keep"; readonly content: StoredContent }
  | { readonly operation: "policy_log.content"; readonly digest: string }
  | { readonly operation: "issuers.publish"; readonly record: IssuerRecord }
  | { readonly operation: "issuers.list"; readonly now: number }
  | { readonly operation: "issuers.prune"; readonly before: number }
  | { readonly operation: "limits.lease"; readonly lease: LimitLease }
  | { readonly operation: "limits.read"; readonly now: number }
  | { readonly operation: "limits.prune"; readonly now: number; readonly limit: number }
  | SessionRequest
  | { readonly operation: "close" };

export type EvidenceAppend = Extract<StoreRequest, { operation: "evidence.append" }>;

/** Which batches are read: those with a last position between the two. */
export interface BatchQuery {
  readonly after: number;
  /** Only with `newestFirst`; otherwise it is not looked at. */
  readonly before: number;
  readonly newestFirst: boolean;
  /** Only batches with a record of this workspace, with `newestFirst`; `null` for all. */
  readonly workspace: string | null;
}

/** One page of cells: after a position in the order of hour and labels. */
export interface RollUpPage extends RollUpQuery {
  readonly after: { readonly hour: number; readonly labels: string };
  readonly limit: number;
}

/** What the worker answers. */
export type StoreReply =
  | { readonly kind: "done" }
  | { readonly kind: "key"; readonly record: KeyRecord | null }
  | { readonly kind: "keys"; readonly records: readonly KeyRecord[] }
  | { readonly kind: "count"; readonly count: number }
  | {
      readonly kind: "appended";
      readonly duplicates: readonly number[];
      readonly lost: number;
      readonly head: EvidenceHead;
    }
  | { readonly kind: "head"; readonly head: EvidenceHead }
  | { readonly kind: "noted_head"; readonly noted: NotedHead | null }
  | { readonly kind: "open"; readonly requestIds: readonly string[] }
  | { readonly kind: "processes"; readonly processes: readonly EvidenceProcess[] }
  | { readonly kind: "anchors"; readonly anchors: readonly EvidenceAnchor[] }
  | { readonly kind: "anchor"; readonly anchor: EvidenceAnchor | null }
  | { readonly kind: "count"; readonly count: number }
  | {
      readonly kind: "batches";
      readonly batches: readonly StoredBatch[];
      readonly abandoned: Abandoned;
    }
  | { readonly kind: "roll_ups"; readonly rows: PackedRows }
  | { readonly kind: "workspaces"; readonly workspaces: readonly (string | null)[] }
  | { readonly kind: "policy_rows"; readonly rows: readonly PolicyLogRow[] }
  | { readonly kind: "policy_appended"; readonly appended: boolean }
  | { readonly kind: "policy_content"; readonly content: StoredContent | null }
  | { readonly kind: "issuers"; readonly records: readonly IssuerRecord[] }
  | { readonly kind: "limits_leased"; readonly leased: LimitLeased }
  | { readonly kind: "limits"; readonly usage: LimitUsage }
  | { readonly kind: "pruned"; readonly count: number }
  | SessionReply
  | { readonly kind: "duplicate_key"; readonly id: string }
  | { readonly kind: "key_not_active"; readonly id: string }
  | { readonly kind: "key_rotated"; readonly id: string }
  /**
   * `done`: `no` where all of it was rolled back or never began. `refused`: because of the call
   * itself, not of the database's state.
   */
  | {
      readonly kind: "failed";
      readonly description: string;
      readonly refused: boolean;
      readonly done: "no" | "unknown";
    };

export interface ToWorker {
  readonly id: number;
  readonly request: StoreRequest;
}

export type FromWorker =
  | { readonly type: "opened" }
  | { readonly type: "not_opened"; readonly description: string }
  | { readonly type: "reply"; readonly id: number; readonly reply: StoreReply }
  /** The database under the open connection has changed, or is as it was again: `null`. */
  | { readonly type: "fault"; readonly fault: EvidenceFault | null }
  | { readonly type: "keys_changed"; readonly records: readonly KeyRecord[] }
  /** The thread has closed the connection of another process. */
  | { readonly type: "refused"; readonly description: string };
