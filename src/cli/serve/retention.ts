import type { EvidenceStore } from "../../store/port.ts";
import { UsageError } from "../terminal/command-io.ts";

const DAY = 86_400_000;

/** Between sweeps, milliseconds. */
const INTERVAL = 3_600_000;

/** After the start: a server that is restarted every half hour prunes too, and the start itself stays quick. */
const FIRST = 60_000;

/** About a hundred years. */
const LONGEST = 36_500;

/**
 * Milliseconds that evidence is kept for; `null` for ever.
 *
 * @param text days, from the flag or its environment variable. @throws {UsageError} naming `source`
 */
export function readRetention(text: string | undefined, source: string): number | null {
  if (text === undefined || text === "") return null;
  const days = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > LONGEST) {
    throw new UsageError(`${source}: give whole days, from 1 to ${LONGEST}; leave it out to keep evidence for ever`);
  }
  return days * DAY;
}

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
