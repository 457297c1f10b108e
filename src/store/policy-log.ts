import { chainHash, type ChainLink } from "../evidence/chain.ts";
import type { PolicyLogRow, PolicyLogStore } from "../lifecycle/records.ts";
import { PAGE, type RunCommon } from "./common-tables.ts";
import { readBytes, readLink, readText } from "./rows.ts";

/** The most rows of one reading or one append. */
const MOST_ROWS = 10_000;

/** The policy log over an engine: validates arguments, reads in pages, reports appends. */
export function policyLogOver(
  run: RunCommon,
  writes: Pick<PolicyLogStore, "append" | "keep">,
): PolicyLogStore {
  const head: PolicyLogStore["head"] = async () => readLink((await run("policyLog.head"))[0]);
  const watchers = policyLogWatchers(head);
  return {
    ...writes,
    head,
    async read({ after, limit }) {
      refuseRange(after, limit);
      const found: PolicyLogRow[] = [];
      for (;;) {
        const size = Math.min(PAGE, limit - found.length);
        const rows = await run("policyLog.read", [found.at(-1)?.position ?? after, size]);
        for (const row of rows)
          found.push({
            ...readLink(row),
            previous: readText(row, "previous"),
            record: readText(row, "record"),
          });
        if (rows.length < size || found.length >= limit) return found;
      }
    },
    async append(expected, rows) {
      refuseUnchained(expected, rows);
      const appended = await writes.append(expected, rows);
      if (appended) watchers.publish(rows.at(-1) ?? expected);
      return appended;
    },
    async content(digest) {
      const [row] = await run("policyLog.content", [digest]);
      if (row === undefined) return null;
      return {
        policy: readText(row, "policy"),
        digest: readText(row, "digest"),
        description: readText(row, "description"),
        module: readBytes(row, "module"),
      };
    },
    watch: (listener) => watchers.add(listener),
  };
}

/** @throws {RangeError} for a limit or a position out of range */
export function refuseRange(after: number, limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new RangeError("limit: give a whole number from 1 to 10,000");
  if (!Number.isSafeInteger(after) || after < 0)
    throw new RangeError("after: give a position, 0 for the whole log");
}

/** @throws {RangeError} for no rows, too many, or rows that are not a chain after `expected` */
export function refuseUnchained(expected: ChainLink, rows: readonly PolicyLogRow[]): void {
  if (rows.length === 0 || rows.length > MOST_ROWS)
    throw new RangeError("rows: give 1 to 10,000 of them");
  let { position, hash } = expected;
  for (const row of rows) {
    const follows =
      row.position === position + 1 &&
      row.previous === hash &&
      row.hash === chainHash(hash, row.position, "policy", row.record);
    if (!follows)
      throw new RangeError(
        "rows: each has the next position and the hash that follows from the row before it",
      );
    ({ position, hash } = row);
  }
}

/** How often the head is read, milliseconds; the port promises one second. */
const POLL = 400;

/**
 * Listeners to appends. One read of the head serves all of them.
 *
 * @param readHead of the log as it is stored
 */
function policyLogWatchers(readHead: () => Promise<ChainLink>) {
  const listeners = new Set<() => void>();
  let reported: string | null = null;
  let timer: ReturnType<typeof setInterval> | null = null;
  let looking = false;
  let publications = 0;

  /** Reports a new head at once. A head that was reported already calls no listener. */
  function publish({ hash }: ChainLink) {
    if (hash === reported) return;
    reported = hash;
    publications += 1;
    for (const listener of listeners) {
      try {
        listener();
      } catch {
        // The rows are stored: a listener that throws must not fail the append.
      }
    }
  }

  async function look() {
    // One read at a time: with a slow store, an older answer could arrive after a newer one.
    if (looking) return;
    looking = true;
    try {
      const published = publications;
      const head = await readHead();
      // A head that was reported during the read may be newer.
      if (published === publications) publish(head);
    } catch {
      // It is read again.
    } finally {
      looking = false;
    }
  }

  return {
    /** @throws {StoreUnavailableError} when the head cannot be read */
    async add(listener: () => void): Promise<() => void> {
      const { hash } = await readHead();
      // With other listeners, an unreported head is new to them, and at most repeated for this one.
      if (listeners.size === 0) reported = hash;
      // A set would merge one function given twice, and the first to leave would end both.
      const entry = () => listener();
      listeners.add(entry);
      if (timer === null) {
        timer = setInterval(() => void look(), POLL);
        timer.unref();
      }
      return () => {
        listeners.delete(entry);
        if (listeners.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
    publish,
  };
}
