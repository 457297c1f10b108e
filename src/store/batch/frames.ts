import type { ChainKind } from "../../evidence/chain.ts";
import { DECISION_FIELDS, OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "../evidence-batch.ts";

/**
 * Records of one batch as bytes, a frame each. A frame has a fixed part, the request id and the record's JSON text, both
 * UTF-8. Numbers are little-endian:
 *
 * | at | bytes | |
 * |---|---|---|
 * | 0 | 4 | length of the record in bytes |
 * | 4 | 2 | length of the request id in bytes |
 * | 6 | 2 | 0 for a decision, 1 for an outcome |
 * | 8 | 8 | milliseconds since the epoch, a double |
 * | 16 | 4 | workspace: its number in the batch's list, from 1; 0 for none |
 * | 20 | 32 | SHA-256 of the chain up to and with this record |
 */
export interface RecordBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly workspaces: readonly string[];
}

const FIXED = 52;
const AT = 8;
const WORKSPACE = 16;
const HASH = 20;
const HASH_END = 52;

/** Request ids are ours and short; a longer one is a bug. */
const LONGEST_ID = 0xff_ff;

/**
 * Encodes records once, for the thread that hashes and stores the same bytes. Workspaces of outcomes and hashes are
 * filled in by {@link FrameCursor}.
 *
 * @throws {RangeError} for a request id of more than 65,535 bytes
 */
export function encodeBatch(decisions: DecisionFields, outcomes: OutcomeFields): RecordBatch {
  let room = 0;
  for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
    room += frameLength(String(decisions[index + 1]), String(decisions[index + 3]));
  }
  for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
    room += frameLength(String(outcomes[index + 1]), String(outcomes[index + 2]));
  }
  // A buffer of its own: it is handed to the other thread, which a part of Node's pool cannot be.
  const bytes = Buffer.from(new ArrayBuffer(room));
  const workspaces: string[] = [];
  let offset = 0;
  for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
    const workspace = decisions[index + 2];
    const workspaceNumber = typeof workspace === "string" ? workspaceNumberOf(workspace, workspaces) : 0;
    const [requestId, record] = [String(decisions[index + 1]), String(decisions[index + 3])];
    offset = writeFrame(bytes, offset, { kind: 0, at: Number(decisions[index]), workspaceNumber, requestId, record });
  }
  for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
    const [requestId, record] = [String(outcomes[index + 1]), String(outcomes[index + 2])];
    offset = writeFrame(bytes, offset, { kind: 1, at: Number(outcomes[index]), workspaceNumber: 0, requestId, record });
  }
  return { bytes: new Uint8Array(bytes.buffer, 0, offset), workspaces };
}

function frameLength(requestId: string, record: string): number {
  return FIXED + Buffer.byteLength(requestId) + Buffer.byteLength(record);
}

interface NewFrame {
  readonly kind: 0 | 1;
  readonly at: number;
  readonly workspaceNumber: number;
  readonly requestId: string;
  readonly record: string;
}

function writeFrame(bytes: Buffer, offset: number, { kind, at, workspaceNumber, requestId, record }: NewFrame): number {
  const idLength = bytes.write(requestId, offset + FIXED);
  if (idLength > LONGEST_ID) throw new RangeError("evidence: a request id has more than 65,535 bytes");
  const recordLength = bytes.write(record, offset + FIXED + idLength);
  bytes.writeUInt32LE(recordLength, offset);
  bytes.writeUInt16LE(idLength, offset + 4);
  bytes.writeUInt16LE(kind, offset + 6);
  bytes.writeDoubleLE(at, offset + AT);
  bytes.writeUInt32LE(workspaceNumber, offset + WORKSPACE);
  return offset + FIXED + idLength + recordLength;
}

/** The number of a workspace in a batch's list, from 1; a missing one is added. Batches have few workspaces. */
export function workspaceNumberOf(workspace: string, workspaces: string[]): number {
  const index = workspaces.indexOf(workspace);
  return index === -1 ? workspaces.push(workspace) : index + 1;
}

/** Goes through the frames of a batch. */
export class FrameCursor {
  readonly bytes: Buffer<ArrayBuffer>;
  #start = 0;
  #idEnd = 0;
  #end = 0;
  #next = 0;

  /** @param bytes of whole frames */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes to the next frame; false after the last, and before one that is not whole: somebody changed the bytes. */
  next(): boolean {
    const start = this.#next;
    if (start + FIXED > this.bytes.length) return false;
    const idEnd = start + FIXED + this.bytes.readUInt16LE(start + 4);
    const end = idEnd + this.bytes.readUInt32LE(start);
    if (end > this.bytes.length) return false;
    this.#start = start;
    this.#idEnd = idEnd;
    this.#end = end;
    this.#next = end;
    return true;
  }

  get start(): number {
    return this.#start;
  }

  /** Where the record's text begins. */
  get recordStart(): number {
    return this.#idEnd;
  }

  /** Where the frame ends, and the record's text with it. */
  get end(): number {
    return this.#end;
  }

  get kind(): ChainKind {
    return this.bytes.readUInt16LE(this.#start + 6) === 0 ? "decision" : "outcome";
  }

  /** Milliseconds since the epoch. */
  get at(): number {
    return this.bytes.readDoubleLE(this.#start + AT);
  }

  get requestId(): string {
    return this.bytes.toString("utf8", this.#start + FIXED, this.#idEnd);
  }

  get record(): string {
    return this.bytes.toString("utf8", this.#idEnd, this.#end);
  }

  /** 64 lower-case hexadecimal digits. */
  get hash(): string {
    return this.bytes.toString("hex", this.#start + HASH, this.#start + HASH_END);
  }

  /** The same as {@link HASH_BYTES} bytes; writing to them changes the frame. */
  get hashBytes(): Uint8Array {
    return this.bytes.subarray(this.#start + HASH, this.#start + HASH_END);
  }

  set hash(digits: string) {
    this.bytes.write(digits, this.#start + HASH, "hex");
  }

  /** In the batch's list, from 1; 0 for none. */
  get workspaceNumber(): number {
    return this.bytes.readUInt32LE(this.#start + WORKSPACE);
  }

  set workspaceNumber(workspaceNumber: number) {
    this.bytes.writeUInt32LE(workspaceNumber, this.#start + WORKSPACE);
  }

  /** Moves the frame to an earlier offset, over frames that are left out; the next frame stays where it is. */
  moveTo(offset: number): void {
    this.bytes.copyWithin(offset, this.#start, this.#end);
    const moved = this.#start - offset;
    this.#start -= moved;
    this.#idEnd -= moved;
    this.#end -= moved;
  }
}
