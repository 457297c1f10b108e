import type { ServiceError } from "../../canon/error.ts";
import type { UnaryWork } from "./joined.ts";
import type { Admission } from "../admission.ts";

/** What one request has taken of its limits and not given to a piece of work. Work that others join is paid by who began it. */
export class UnaryAdmissions {
  #waiting: Admission | null;
  readonly #admit: () => Admission | ServiceError | Promise<Admission | ServiceError>;

  /** @param first `null` where the request hopes to join other work. @param admit takes more, for work begun later. */
  constructor(first: Admission | null, admit: () => Admission | ServiceError | Promise<Admission | ServiceError>) {
    this.#waiting = first;
    this.#admit = admit;
  }

  /** Does the work with what was taken, and settles what it came to. Work that limits forbid has their error. */
  async carry(work: () => Promise<Omit<UnaryWork, "settlement">>): Promise<UnaryWork> {
    const taken = this.#waiting ?? (await this.#admit());
    this.#waiting = null;
    if ("code" in taken) return forbidden(taken);
    try {
      const done = await work();
      const { attempts, answered, spentTokens } = done.gathered;
      const settlement = taken.gathered(attempts, answered, done.answer?.inputTokens ?? spentTokens);
      return { ...done, settlement };
    } finally {
      taken.end();
    }
  }

  /** Gives back what no work was begun with. */
  close(): void {
    this.#waiting?.release();
    this.#waiting = null;
  }
}

function forbidden(error: ServiceError): UnaryWork {
  const none = { ends: null, attempts: [], calls: 0, answeredBy: [], answered: [], dropped: [] };
  const gathered = { ...none, spentTokens: null, ended: null, error };
  return { gathered, answer: null, settlement: { estimated: false, cost: undefined } };
}
