import type { AttemptReport } from "../attempt.ts";
import { hasCalledProvider } from "../failures.ts";

/** State that the parts of one request share: their calls under way and ended, and the bytes that they may collect together. */
export class Siblings {
  /** Provider id → calls of this request under way. */
  readonly #calls = new Map<string, number>();
  readonly #reports = new Map<string, AttemptReport & { readonly calls: number }>();
  #madeCalls = 0;
  #bytesLeft: number;
  #waiting: (() => void)[] = [];

  /** @param maxBytes of all answers together. */
  constructor(maxBytes: number) {
    this.#bytesLeft = maxBytes;
  }

  callBegins(provider: string): void {
    this.#calls.set(provider, (this.#calls.get(provider) ?? 0) + 1);
  }

  callEnds(provider: string): void {
    this.#calls.set(provider, (this.#calls.get(provider) ?? 0) - 1);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  hasCallTo(provider: string): boolean {
    return (this.#calls.get(provider) ?? 0) > 0;
  }

  /** Resolves when any call of the request has ended; never where none is under way. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** False where the answers would be larger than allowed. */
  takeBytes(count: number): boolean {
    if (count > this.#bytesLeft) return false;
    this.#bytesLeft -= count;
    return true;
  }

  /** Of an answer that is not kept. */
  giveBytesBack(count: number): void {
    this.#bytesLeft += count;
  }

  /** Counts calls that ended alike together: a batch of two thousand parts must not become two thousand lines of evidence. */
  add(report: AttemptReport): void {
    const { candidate, failure, status } = report;
    if (failure === null || hasCalledProvider(failure)) this.#madeCalls += 1;
    const key = `${candidate.endpoint.id}|${failure?.kind ?? ""}|${failure?.code ?? ""}|${status ?? ""}`;
    const known = this.#reports.get(key);
    const duration = Math.max(known?.duration ?? 0, report.duration);
    this.#reports.set(key, { ...report, duration, calls: (known?.calls ?? 0) + 1 });
  }

  /** Calls that reached a provider. */
  get madeCalls(): number {
    return this.#madeCalls;
  }

  /** In the order in which each way to end was first met. */
  reports(): readonly AttemptReport[] {
    return [...this.#reports.values()];
  }
}
