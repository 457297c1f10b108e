import type { JsonValue } from "../../../canon/json.ts";

/** Ids of answers that may stand in an id of ours; with it the id has 40 characters at most, which is all that some clients' stores take. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,30}$/;

/** Ids for the calls of one answer. Those of the provider are kept; most models give none. */
export class AnswerCallIds {
  readonly #used = new Set<string>();

  /** @param answer the answer's id, which keeps the calls of different answers apart. */
  take(given: JsonValue | undefined, answer: JsonValue | undefined): string {
    const id = typeof given === "string" && given !== "" && !this.#used.has(given) ? given : this.#mint(answer);
    this.#used.add(id);
    return id;
  }

  #mint(answer: JsonValue | undefined): string {
    const prefix = typeof answer === "string" && PLAIN_ID.test(answer) ? `call_${answer}_` : "call_";
    for (let number = this.#used.size; ; number += 1) {
      const id = `${prefix}${number}`;
      if (!this.#used.has(id)) return id;
    }
  }
}
