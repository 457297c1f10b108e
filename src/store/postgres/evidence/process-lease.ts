import { randomUUID } from "node:crypto";
import type { PostgresLink } from "../link.ts";
import { readNumber } from "../../rows/row.ts";

const START = `
INSERT INTO signalbox.evidence_processes (token, started_at, seen_at)
VALUES ($1, signalbox.now_ms(), signalbox.now_ms()) RETURNING id`;
// A process that was believed gone may have written since: its requests are looked at again.
const RENEW = `
UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms(), swept = false, number = greatest(number, $3)
WHERE id = $1 AND token = $2`;
const END = `
UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms(), ended_at = signalbox.now_ms(), swept = false,
  number = greatest(number, $3)
WHERE id = $1 AND token = $2`;

/**
 * The row by which other replicas distinguish a decision that is still being answered from one
 * whose process died. Taken with the first decision, so that a command that only reads leaves no
 * trace.
 */
export class ProcessLease {
  readonly token = randomUUID();
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
    this.#id ??= readNumber((await this.#link.query(START, [this.token]))[0] ?? {}, "id");
    return this.#id;
  }

  /** @param number of the newest batch that this process knows as written */
  async renew(number: number): Promise<void> {
    if (this.#id !== null) await this.#link.query(RENEW, [this.#id, this.token, number]);
  }

  /** @param number likewise */
  async end(number: number): Promise<void> {
    if (this.#id !== null) await this.#link.query(END, [this.#id, this.token, number]);
  }
}
