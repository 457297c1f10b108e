import type { EvidenceStore } from "../evidence/evidence-store.ts";

/** Between sweeps, milliseconds. */
const INTERVAL = 3_600_000;

/**
 * After the start: a server that is restarted every half hour prunes too, and the start itself
 * stays quick.
 */
const FIRST = 60_000;

export interface Retention {
  /** Whether the newest sweep failed; the next one tries again. */
  readonly failed: () => boolean;
  /** Ends the sweeps; one that runs ends with its current step, as the store closes. */
  readonly stop: () => void;
}

/**
 * Deletes old evidence, hourly.
 *
 * @param keep milliseconds; `null` deletes nothing
 */
export function startRetention(
  evidence: Pick<EvidenceStore, "prune">,
  keep: number | null,
  now: () => number,
): Retention {
  let failed = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const schedule = (delay: number): void => {
    timer = setTimeout(() => {
      // The next sweep is set by the end of this one, so that two never run at once.
      void evidence
        .prune(now() - (keep ?? 0), now())
        .then(
          () => (failed = false),
          () => (failed = true),
        )
        .finally(() => {
          if (timer !== null) schedule(INTERVAL);
        });
    }, delay);
    timer.unref();
  };
  if (keep !== null) schedule(FIRST);
  return {
    failed: () => failed,
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
