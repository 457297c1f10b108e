import type { ServiceError } from "../canon/error.ts";
import { codedError } from "../canon/error-codes.ts";
import type { Identity } from "../canon/identity.ts";
import type { RoutingTable } from "../canon/table.ts";
import { remember } from "../canon/remember.ts";

/**
 * The bounds of one process, shared among workspaces: requests under way, bodies being read,
 * and bytes of bodies. Everything is taken after authentication, so a refusal has a key, and a
 * connection without a valid key takes nothing.
 */
export class Capacity {
  readonly running: FairShare;
  readonly reading: FairShare;
  readonly bytes: FairShare;

  constructor({ inFlight, bodyMemory }: Pick<ServerLimits, "inFlight" | "bodyMemory">) {
    this.running = new FairShare(inFlight);
    this.reading = new FairShare(inFlight);
    this.bytes = new FairShare(bodyMemory);
  }

  /** For one request. {@link RequestHold.releaseAll} gives back all that it holds. */
  hold(
    { workspace, keyId }: Identity,
    { workspaces }: Pick<RoutingTable, "workspaces">,
  ): RequestHold {
    return new RequestHold(this, workspace, keyId, hasOneWorkspace(workspaces));
  }
}

/** One request's share of the process. */
export class RequestHold {
  readonly #capacity: Capacity;
  readonly #workspace: string;
  readonly #keyId: string;
  readonly #isOnlyWorkspace: boolean;
  #isReading = false;
  #isRunning = false;
  #bytes = 0;

  constructor(capacity: Capacity, workspace: string, keyId: string, isOnlyWorkspace: boolean) {
    this.#capacity = capacity;
    this.#workspace = workspace;
    this.#keyId = keyId;
    this.#isOnlyWorkspace = isOnlyWorkspace;
  }

  /** Before anything of the body is read. @param bytes as announced; 0 where it is not known. */
  beginReading(bytes: number): ServiceError | null {
    const shareRefusal = this.#capacity.reading.take(
      this.#workspace,
      this.#keyId,
      1,
      this.#isOnlyWorkspace,
    );
    if (shareRefusal !== null) return refusal(shareRefusal, "requests with incomplete bodies");
    this.#isReading = true;
    return this.noteBytes(bytes);
  }

  /** @param bytes of the body, so far or announced. */
  noteBytes(bytes: number): ServiceError | null {
    const more = bytes - this.#bytes;
    if (more <= 0) return null;
    const shareRefusal = this.#capacity.bytes.take(
      this.#workspace,
      this.#keyId,
      more,
      this.#isOnlyWorkspace,
    );
    if (shareRefusal !== null) return refusal(shareRefusal, "bytes of request bodies");
    this.#bytes = bytes;
    return null;
  }

  /**
   * The body is whole, or will never be. Its bytes stay held: a request has its body to the end.
   */
  endReading(): void {
    if (this.#isReading) this.#capacity.reading.giveBack(this.#workspace, this.#keyId, 1);
    this.#isReading = false;
  }

  /** Keys are not distinguished: they have limits of their own (`concurrency`). */
  beginRunning(): ServiceError | null {
    const shareRefusal = this.#capacity.running.take(
      this.#workspace,
      null,
      1,
      this.#isOnlyWorkspace,
    );
    if (shareRefusal !== null) return refusal(shareRefusal, "requests under way");
    this.#isRunning = true;
    return null;
  }

  /** Safe to call twice. */
  releaseAll(): void {
    this.endReading();
    if (this.#isRunning) this.#capacity.running.giveBack(this.#workspace, null, 1);
    if (this.#bytes > 0) this.#capacity.bytes.giveBack(this.#workspace, this.#keyId, this.#bytes);
    this.#isRunning = false;
    this.#bytes = 0;
  }
}

function refusal(why: ShareRefusal, what: string) {
  return why === "full"
    ? codedError(
        "server_overloaded",
        `The server has reached its maximum of ${what}. Try again in a moment.`,
      )
    : codedError(
        "fair_share_exceeded",
        `The key or its workspace has reached its share of this server's maximum of ${what}. Wait until some have ended, then try again.`,
      );
}

/** By the workspaces of a table: every request needs the answer. */
const singleWorkspace = new WeakMap<object, boolean>();

/** Whether the table has a single workspace, which then shares with no other. */
function hasOneWorkspace(workspaces: RoutingTable["workspaces"]) {
  return remember(singleWorkspace, workspaces, () => Object.keys(workspaces).length <= 1);
}

/**
 * Why something cannot be taken: the holder has more than an equal share already, or the rest is in
 * use by the others.
 */
type ShareRefusal = "share" | "full";

/**
 * An amount that one process has and its workspaces share.
 *
 * No workspace may hold more than it leaves free, and no key more than it leaves free for its
 * workspace (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2),
 * 1998). So one workspace gets at most half and one key at most a third, whatever they do, and the
 * next one always finds room. Where the table has one workspace only, it may hold everything, and
 * one key of it half.
 */
export class FairShare {
  readonly #capacity: number;
  readonly #workspaces = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  #inUse = 0;
  /** Workspaces that hold something: those in the map may hold nothing. */
  #holders = 0;

  /** @param capacity requests or bytes; default: no bound. */
  constructor(capacity: number = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** Total over all holders. */
  get held(): number {
    return this.#inUse;
  }

  /**
   * @param keyId `null`: keys are not distinguished.
   * @param isOnlyWorkspace the table has no other workspace.
   * @returns `null` where it has been taken; {@link giveBack} it once.
   */
  take(
    workspace: string,
    keyId: string | null,
    amount: number,
    isOnlyWorkspace: boolean,
  ): ShareRefusal | null {
    const ofWorkspace = (this.#workspaces.get(workspace) ?? 0) + amount;
    const ofKey = keyId === null ? 0 : (this.#keys.get(keyId) ?? 0) + amount;
    const free = this.#capacity - this.#inUse - amount;
    const remaining = isOnlyWorkspace ? free : free - ofWorkspace;
    if (remaining < ofKey) {
      if (free < 0 && isOnlyWorkspace) return "full";
      const holders = this.#holders + (ofWorkspace === amount ? 1 : 0);
      return ofWorkspace > this.#capacity / (holders + 1) || free >= ofWorkspace ? "share" : "full";
    }
    this.#inUse += amount;
    if (ofWorkspace === amount) this.#holders += 1;
    this.#workspaces.set(workspace, ofWorkspace);
    if (keyId !== null) this.#keys.set(keyId, ofKey);
    return null;
  }

  giveBack(workspace: string, keyId: string | null, amount: number): void {
    this.#inUse -= amount;
    if (subtract(this.#workspaces, workspace, amount) === 0) this.#holders -= 1;
    if (keyId !== null) subtract(this.#keys, keyId, amount);
  }
}

/**
 * Names that are kept although they hold nothing: V8 makes a new table for a map that empties and
 * fills with each request.
 */
const KEPT_NAMES = 16;

/**
 * Names that hold nothing are dropped: every key that ever was has one. @returns the amount that
 * the name still holds.
 */
function subtract(amounts: Map<string, number>, name: string, amount: number): number {
  const remaining = (amounts.get(name) ?? 0) - amount;
  if (remaining > 0 || amounts.size <= KEPT_NAMES) amounts.set(name, remaining);
  else amounts.delete(name);
  return remaining;
}

/** Bounds of one server; all have defaults in `server/make-runtime.ts`. */
export interface ServerLimits {
  /**
   * Inference requests under way in this process, and beside them as many whose bodies are not
   * whole. Default: no bound.
   */
  readonly inFlight?: number;
  /** Largest request body, bytes. */
  readonly bodyBytes: number;
  /** Largest answer that is collected before it is sent, bytes. */
  readonly answerBytes: number;
  /** Longest time a request may take, whatever the caller requests; milliseconds. */
  readonly requestTime: number;
  /**
   * Bytes of bodies that this process holds at once, of those being read and of requests under way.
   * Default: no bound.
   */
  readonly bodyMemory?: number;
  /** Longest time a client may take to send a body, milliseconds. */
  readonly bodyTime: number;
  /**
   * Interval between two checks that a body arrives fast enough, milliseconds. Default: 10 s.
   */
  readonly bodyProgressTime?: number;
  /**
   * Longest time a client may take to read the rest of an answer that has been handed over whole,
   * milliseconds.
   */
  readonly writeTime: number;
}
