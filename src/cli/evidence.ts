import { setTimeout as delay } from "node:timers/promises";

import type { EvidenceEntry, EvidenceStore } from "../store/port.ts";
import { readArguments } from "./terminal/arguments.ts";
import { EXIT, UsageError, type CommandIo } from "./terminal/command-io.ts";
import { formatEntry } from "./evidence-line.ts";
import { databasePath, withStore } from "./terminal/open-store.ts";
import { runCommand } from "./terminal/run.ts";

const HELP = `Usage: signalbox evidence tail [flags]

Prints the newest requests, one line each: time, request id, workspace, operation, route -> provider/region, outcome,
status, reason, tokens in+out, milliseconds. Evidence holds no text of requests or answers.

Flags
  --limit N         How many, 1 to 10000. Default: 20.
  --workspace W     Only this workspace.
  --follow, -f      Goes on with new requests, each once it has ended, until interrupted.
  --json            One JSON object a line: sequence, decision, outcome.
  --database PLACE  An SQLite file or a postgres:// URL. Default: SIGNALBOX_DATABASE_URL, else SIGNALBOX_DATABASE,
                    else .signalbox/signalbox.db.

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  follow: { type: "boolean", short: "f" },
  database: { type: "string" },
  workspace: { type: "string" },
  limit: { type: "string" },
} as const;

const LARGEST_READ = 10_000;

/** How often new entries are looked for, milliseconds. */
const FOLLOW_INTERVAL = 500;

/** How many running requests are waited for; of more, the oldest are printed as running. */
const LONGEST_WAITING_LIST = 1_000;

/** `signalbox evidence`; gives the exit code. */
export function evidence(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand("evidence", io, async () => {
    const { values, positionals } = readArguments(argv, FLAGS);
    if (values.help === true) {
      io.stdout(HELP);
      return EXIT.ok;
    }
    if (positionals.length !== 1 || positionals[0] !== "tail") throw new UsageError("command: give tail");
    const limit = readLimit(values.limit);
    const workspace = values.workspace === undefined ? {} : { workspace: values.workspace };
    const print = (entry: EvidenceEntry): void =>
      io.stdout(values.json === true ? `${JSON.stringify(entry)}\n` : `${formatEntry(entry)}\n`);
    return await withStore(databasePath(values.database, io), false, async (store) => {
      const entries = await store.evidence.read({ after: 0, limit, ...workspace });
      if (values.follow === true) await follow(store.evidence, entries, workspace, print, io);
      else entries.forEach(print);
      return EXIT.ok;
    });
  });
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
    await delay(FOLLOW_INTERVAL, undefined, io.signal === undefined ? {} : { signal: io.signal }).catch(
      () => undefined,
    );
    for (const { decision } of running.values()) {
      take(await store.read({ after: 0, limit: 1, requestId: decision.requestId }));
    }
    take(await store.read({ after: seen, limit: LARGEST_READ, ...workspace }));
  }
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return 20;
  const limit = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LARGEST_READ) throw new UsageError("--limit: give a whole number from 1 to 10000");
  return limit;
}
