import { setTimeout as delay } from "node:timers/promises";
import type { EvidenceEntry, EvidenceStore } from "../../evidence/evidence-store.ts";
import type { CommandIo } from "../terminal/command-io.ts";
import { endedAt } from "../../evidence/record.ts";

const LARGEST_READ = 10_000;

/** How often new entries are looked for, milliseconds. */
const FOLLOW_INTERVAL = 500;

/** How many running requests are waited for; of more, the oldest are printed as running. */
const LONGEST_WAITING_LIST = 1_000;

interface TailOptions {
  /** 1 to 10,000. */
  readonly limit: number;
  readonly workspace: { readonly workspace?: string };
  readonly json: boolean;
  /** Goes on until interrupted. */
  readonly follow: boolean;
}

/** Prints the newest entries. */
export async function tail(
  store: EvidenceStore,
  options: TailOptions,
  io: CommandIo,
): Promise<void> {
  const print = (entry: EvidenceEntry): void =>
    io.stdout(options.json ? `${JSON.stringify(entry)}\n` : `${formatEntry(entry)}\n`);
  const entries = await store.read({ after: 0, limit: options.limit, ...options.workspace });
  if (options.follow) await follow(store, entries, options.workspace, print, io);
  else entries.forEach(print);
}

/** Prints each entry once, when it has its outcome; so a line is complete when it appears. */
async function follow(
  store: EvidenceStore,
  first: readonly EvidenceEntry[],
  workspace: { readonly workspace?: string },
  print: (entry: EvidenceEntry) => void,
  io: CommandIo,
): Promise<void> {
  const running = new Map<number, EvidenceEntry>();
  let seen = 0;
  const take = (entries: readonly EvidenceEntry[]): void => {
    for (const entry of entries) {
      if (entry.outcome === null) {
        running.set(entry.sequence, entry);
      } else {
        running.delete(entry.sequence);
        print(entry);
      }
    }
    seen = Math.max(seen, entries.at(-1)?.sequence ?? 0);
    for (const [sequence, entry] of running) {
      if (running.size <= LONGEST_WAITING_LIST) break;
      running.delete(sequence);
      print(entry);
    }
  };
  take(first);
  while (io.signal?.aborted !== true) {
    await delay(
      FOLLOW_INTERVAL,
      undefined,
      io.signal === undefined ? {} : { signal: io.signal },
    ).catch(() => undefined);
    for (const { decision } of running.values()) {
      take(await store.read({ after: 0, limit: 1, requestId: decision.requestId }));
    }
    take(await store.read({ after: seen, limit: LARGEST_READ, ...workspace }));
  }
}

/** One request on one line; `-` for an absent value. */
export function formatEntry({ decision, outcome }: EvidenceEntry): string {
  const ended = outcome === null ? [] : endedAt(outcome);
  const targets = new Set(ended.map(({ provider, region }) => `${provider}/${region}`));
  const target = targets.size === 0 ? (decision.plan[0] ?? "-") : [...targets].join(" + ");
  const fields = [
    new Date(decision.at).toISOString(),
    decision.requestId,
    decision.workspace ?? "-",
    decision.operation,
    `${decision.route ?? "-"} -> ${target}`,
    outcome?.terminal ?? (decision.outcome === "route" ? "running" : decision.outcome),
    outcome === null || outcome.status === 0 ? "-" : `${outcome.status}`,
    decision.reason ?? ended[0]?.failure ?? "-",
    outcome?.inputTokens == null && outcome?.outputTokens == null
      ? "-"
      : `${outcome.inputTokens ?? 0}+${outcome.outputTokens ?? 0} tokens`,
    outcome === null || outcome.terminal === "unknown" ? "-" : `${Math.round(outcome.total)} ms`,
    ...(decision.repeated === undefined ? [] : [`${decision.repeated} requests`]),
  ];
  return fields.join("  ");
}
