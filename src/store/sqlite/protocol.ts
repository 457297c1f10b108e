import type { KeyRecord } from "../../keys/key-store.ts";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";
import type { StoreFailure } from "../../canon/error.ts";
import type { Door } from "./shared/door.ts";
import type { KeyRefusal } from "./sqlite-failure.ts";

/** Given to the worker thread when it starts. */
export interface WorkerStart {
  readonly path: string;
  /** Milliseconds. */
  readonly busyTimeout: number;
  /** Nothing of the file changes; whatever would write fails. */
  readonly readOnly?: boolean;
  /** Opening fails where the log ends before the head that a server noted beside the file. */
  readonly refuseCutEnd?: boolean;
  /** Where other processes reach the thread; absent: nowhere. */
  readonly door?: Door;
}

export type StoreReply =
  /** `value` is the result of the operation. */
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "key_refused"; readonly reason: KeyRefusal["reason"]; readonly id: string }
  | ({ readonly kind: "failed"; readonly description: string } & Required<StoreFailure>);

export type FromWorker =
  | { readonly type: "opened" }
  | { readonly type: "not_opened"; readonly description: string }
  | { readonly type: "reply"; readonly id: number; readonly reply: StoreReply }
  /** The database under the open connection has changed, or is as it was again: `null`. */
  | { readonly type: "fault"; readonly fault: EvidenceFault | null }
  | { readonly type: "keys_changed"; readonly records: readonly KeyRecord[] }
  /** The thread has closed the connection of another process. */
  | { readonly type: "refused"; readonly description: string };
