import {
  DuplicateKeyError,
  KeyNotActiveError,
  KeyRotatedError,
  type KeyRecord,
} from "../../keys/key-store.ts";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";
import type { StoreFailure } from "../../canon/error.ts";
import type { Door } from "./shared/door.ts";
import type { StoreOperations } from "./store-engine.ts";

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

/** A call of the main thread to the worker. */
export type StoreRequest = {
  readonly [Name in keyof StoreOperations]: {
    readonly operation: Name;
    readonly parameters: Readonly<Parameters<StoreOperations[Name]>>;
  };
}[keyof StoreOperations];

/** Errors of keys, which cross the thread by their names here. */
export const KEY_ERRORS = {
  duplicate: DuplicateKeyError,
  not_active: KeyNotActiveError,
  rotated: KeyRotatedError,
} as const;

/** A change of a key that its state does not allow. */
export class KeyRefusal extends Error {
  readonly reason: keyof typeof KEY_ERRORS;
  readonly id: string;
  constructor(reason: KeyRefusal["reason"], id: string) {
    super(reason);
    this.reason = reason;
    this.id = id;
  }
}

export type StoreReply =
  /** `value` is the result of the operation. */
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "key_refused"; readonly reason: KeyRefusal["reason"]; readonly id: string }
  | ({ readonly kind: "failed"; readonly description: string } & Required<StoreFailure>);

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
