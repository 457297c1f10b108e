import type { PostgresLink } from "../link.ts";
import { readNumber } from "../../rows/row.ts";

const START =
  "INSERT INTO signalbox.evidence_processes (started_at, seen_at) VALUES (signalbox.now_ms(), signalbox.now_ms()) RETURNING id";
const RENEW = "UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms() WHERE id = $1";
const END =
  "UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms(), ended_at = signalbox.now_ms() WHERE id = $1";

/**
 * The row by which other replicas distinguish a decision that is still being answered from one whose process died. Taken with
 * the first decision, so that a command that only reads leaves no trace.
 */
export class ProcessLease {
  readonly #link: PostgresLink;
  #id: number | null = null;

  constructor(link: PostgresLink) {
    this.#link = link;
  }

  /** This process's number; `null` while it has none. */
  get id(): number | null {
    return this.#id;
  }

  /** This process's number, which it gets now where it had none. Not called twice at a time. */
  async take(): Promise<number> {
    this.#id ??= readNumber((await this.#link.query(START))[0] ?? {}, "id");
    return this.#id;
  }

  async renew(): Promise<void> {
    if (this.#id !== null) await this.#link.query(RENEW, [this.#id]);
  }

  async end(): Promise<void> {
    if (this.#id !== null) await this.#link.query(END, [this.#id]);
  }
}
