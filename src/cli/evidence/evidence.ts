import { formatTime, readTime } from "../../canon/rfc3339.ts";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  formatLink,
  printVerified,
  readAnchors,
  readLink,
  readPosition,
  startOf,
  verifyFile,
  verifyLog,
  verifyPolicyLog,
  walkLog,
  walkPolicyLog,
} from "./verify.ts";
import {
  CommandError,
  type CommandIo,
  errorCode,
  EXIT,
  UsageError,
} from "../terminal/command-io.ts";
import {
  commandGroup,
  DATABASE_HELP,
  type FlagValues,
  listFlags,
  readInstant,
  readNumber,
  readValue,
  required,
  switches,
  TABLE_FORMAT_HELP,
  textFlags,
  wantsJson,
} from "../terminal/command-line.ts";
import { withStore } from "../terminal/open-store.ts";
import type { EvidenceEntry, EvidenceLog, EvidenceStore } from "../../evidence/evidence-store.ts";
import { endedAt, TERMINALS } from "../../evidence/record.ts";
import { OUTCOMES } from "../../http/contract/decision-schemas.ts";
import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { type JsonValue, parseJsonObject } from "../../canon/json.ts";
import { type ChainLink, type ChainRow, GENESIS } from "../../evidence/chain.ts";
import {
  formatHeader,
  formatPolicyHeader,
  formatPolicyRow,
  formatRow,
} from "../../evidence/export-line.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";

const LARGEST_READ = 10_000;

const FILTERS = ["route", "key", "reason", "outcome", "since"] as const;

const HELP = `Usage: signalbox evidence <command> [flags]

Reads and prunes the evidence: the decision about every request and how it ended. It has no text of requests or
answers. See docs/evidence.md.

Commands
  tail              Prints the newest requests, one line each: time, request id, workspace, operation,
                    route -> provider/region, outcome, status, reason, tokens in+out, milliseconds.
  verify            Verifies the chain of the whole log and the policy log, or an export of one.
  export            Writes the log, or the policy log, as JSON lines that can be verified without the database.
  anchor            Stores an anchor of the newest row and prints it as POSITION:HASH; keep it elsewhere too.
  prune             Deletes what is older than a date; what remains verifies from an anchor.

Flags of tail
  --limit N         How many, 1 to 10000. Default: 20.
  --workspace W     Only this workspace.
  --route R, --key ID, --reason CODE, --outcome O
                    Only requests of this route or key, or with this reason or outcome: route, deny, refuse, answer,
                    or how they ended: ${TERMINALS.join(", ")}.
  --since T         Only requests since then: a duration such as 1h, or an RFC 3339 time.
                    Filters search the newest ${LARGEST_READ} requests.
  --follow, -f      Prints new requests as they end, until interrupted.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object a line, with sequence, decision and outcome

Flags of verify
  --expect-head P:H The log must have this hash at this position; it may have more rows. May be repeated.
  --anchor P:H      The same, for anchors that were noted elsewhere. May be repeated. Also a file with one such
                    line for each: --anchor FILE. A log that ends before one of them does not verify.
  --policy-head P:H The same for the policy log, as verify prints it. May be repeated.
  --file FILE       An export instead of the database.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object, with log and policies, or file; each with verified, head and end

Flags of export
  --after N         Only rows after this position.
  --until N         Only rows up to this position. Default: the newest.
  --workspace W     Only rows of this workspace: a selection, in which a missing row does not show.
  --policies        The whole policy log instead; excludes the three flags above.
  --output FILE     A new file instead of stdout.

Flags of prune
  --before DATE     A day such as 2026-10-01 (UTC), or an RFC 3339 time. Required.
  --yes             Deletes; without it nothing is done.

Flags of every command
${DATABASE_HELP}

Exit codes: 0 done, 1 not done or not verified, 2 the command line cannot be used.
`;

const FLAGS = {
  ...textFlags(
    "format",
    "database",
    "workspace",
    "limit",
    "after",
    "until",
    "before",
    "output",
    "file",
    ...FILTERS,
  ),
  follow: { type: "boolean", short: "f" },
  ...switches("yes", "policies"),
  ...listFlags("expect-head", "policy-head", "anchor"),
} as const;

type Values = FlagValues<typeof FLAGS>;

export const evidence = commandGroup({
  name: "evidence",
  help: HELP,
  flags: FLAGS,
  common: ["database"],
  commands: {
    tail: {
      flags: ["limit", "workspace", "follow", "format", ...FILTERS],
      run: runTail,
    },
    verify: {
      flags: ["expect-head", "anchor", "policy-head", "file", "format"],
      run: runVerify,
    },
    export: { flags: ["after", "until", "workspace", "policies", "output"], run: runExport },
    anchor: { flags: [], run: runAnchor },
    prune: { flags: ["before", "yes"], run: runPrune },
  },
});

async function runVerify(values: Values, io: CommandIo) {
  const noted = [
    ...(values["expect-head"] ?? []).map((text) => readLink(text, "--expect-head")),
    ...(values.anchor ?? []).flatMap((text) => readAnchors(text, io.cwd)),
  ];
  const policies = (values["policy-head"] ?? []).map((text) => readLink(text, "--policy-head"));
  const json = wantsJson(values.format);
  if (values.file !== undefined) {
    const file = await verifyFile(resolve(io.cwd, values.file), { evidence: noted, policies });
    return printVerified({ file }, json, io);
  }
  return withStore(values.database, io, "read", async (store) => {
    const log = await verifyLog(store.evidence, noted);
    const policyLog = await verifyPolicyLog(store.policyLog, policies);
    return printVerified({ log, policies: policyLog }, json, io);
  });
}

async function runExport(values: Values, io: CommandIo) {
  const { after, until, workspace = null } = values;
  const output = values.output === undefined ? null : resolve(io.cwd, values.output);
  const only = Object.entries({ after, until, workspace }).find(([, value]) => value != null);
  if (values.policies === true && only !== undefined)
    throw new UsageError(
      `--${only[0]}: has no effect with --policies, which exports the whole policy log; leave it out`,
    );
  const rows = {
    after: after === undefined ? null : readPosition(after, "--after"),
    until: until === undefined ? null : readPosition(until, "--until"),
    workspace,
  };
  await withStore(values.database, io, "read", ({ evidence: log, policyLog }) =>
    writeExport(
      output,
      io,
      values.policies === true ? exportPolicyLog(policyLog) : exportLog(log, rows),
    ),
  );
}

async function runAnchor({ database }: Values, io: CommandIo) {
  const anchor = await withStore(database, io, false, (store) => store.evidence.anchor(Date.now()));
  if (anchor === null)
    io.stderr("signalbox evidence: the log is empty, so there is no row to anchor yet\n");
  else io.stdout(`${formatLink(anchor)}\n`);
  return anchor === null ? EXIT.failed : EXIT.ok;
}

async function runPrune(values: Values, io: CommandIo) {
  const now = Date.now();
  const day = required(values.before, "--before", "2026-10-01");
  const before = readTime(/^\d{4}-\d{2}-\d{2}$/.test(day) ? `${day}T00:00:00Z` : day);
  if (before === null)
    throw new UsageError("--before: give a day such as 2026-10-01, or an RFC 3339 time");
  if (before > now) throw new UsageError("--before: is in the future; give a time in the past");
  if (values.yes !== true)
    throw new UsageError(
      `--yes: is missing, so nothing was deleted; requests that ended before ${new Date(before).toISOString()} would be deleted for good`,
    );
  const { anchor, rows } = await withStore(values.database, io, false, (store) =>
    store.evidence.prune(before, now),
  );
  io.stdout(
    anchor === null
      ? "nothing to delete\n"
      : `deleted ${rows} rows; the log begins after anchor ${formatLink(anchor)}\n`,
  );
}

/** Prints the newest entries. */
async function runTail(values: Values, io: CommandIo) {
  const limit = readNumber("--limit", values.limit ?? "20", [1, LARGEST_READ]);
  const accepts = readFilters(values);
  const json = wantsJson(values.format);
  const workspace = values.workspace === undefined ? {} : { workspace: values.workspace };
  const print = (entry: EvidenceEntry) => {
    if (accepts?.(entry) !== false)
      io.stdout(`${json ? JSON.stringify(entry) : formatEntry(entry)}\n`);
  };
  await withStore(values.database, io, "read", async ({ evidence: log }) => {
    const most = accepts === null ? limit : LARGEST_READ;
    const read = await log.read({ after: 0, limit: most, ...workspace });
    const entries = accepts === null ? read : read.filter(accepts).slice(-limit);
    if (values.follow === true) await follow(log, entries, workspace, print, io);
    else entries.forEach(print);
  });
}

/** `null`: all requests. @throws {UsageError} */
function readFilters({
  route,
  key,
  reason,
  outcome,
  since,
}: Values): ((entry: EvidenceEntry) => boolean) | null {
  if ([route, key, reason, outcome, since].every((value) => value === undefined)) return null;
  if (outcome !== undefined) readValue("--outcome", outcome, [...OUTCOMES, ...TERMINALS]);
  const from = since === undefined ? 0 : readInstant("--since", since, -1, "1h");
  return ({ decision, outcome: ended }) =>
    decision.at >= from &&
    (route === undefined || decision.route === route) &&
    (key === undefined || decision.keyId === key) &&
    (reason === undefined || decision.reason === reason) &&
    (outcome === undefined || outcome === decision.outcome || outcome === ended?.terminal);
}

/** Interval of reading new entries, milliseconds. */
const FOLLOW_INTERVAL = 500;

/** Running requests to wait for; beyond that, the oldest are printed as running. */
const LONGEST_WAITING_LIST = 1_000;

/** Prints each entry once, when it has its outcome, so that lines are complete. */
async function follow(
  store: EvidenceStore,
  first: readonly EvidenceEntry[],
  workspace: { readonly workspace?: string },
  print: (entry: EvidenceEntry) => void,
  io: CommandIo,
) {
  const running = new Map<number, EvidenceEntry>();
  let seen = 0;
  const add = (entries: readonly EvidenceEntry[]) => {
    for (const entry of entries) {
      if (entry.outcome === null) running.set(entry.sequence, entry);
      else {
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
  add(first);
  while (io.signal?.aborted !== true) {
    await delay(FOLLOW_INTERVAL, undefined, io.signal && { signal: io.signal }).catch(
      () => undefined,
    );
    for (const { decision } of running.values())
      add(await store.read({ after: 0, limit: 1, requestId: decision.requestId }));
    add(await store.read({ after: seen, limit: LARGEST_READ, ...workspace }));
  }
}

/** One request on one line; `-` for an absent value. */
export function formatEntry({ decision, outcome }: EvidenceEntry): string {
  const ended = outcome === null ? [] : endedAt(outcome);
  const targets = new Set(ended.map(({ provider, region }) => `${provider}/${region}`));
  const target = targets.size === 0 ? (decision.plan[0] ?? "-") : [...targets].join(" + ");
  const fields = [
    formatTime(decision.at),
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

/** Rows to export. */
interface ExportedRows {
  /** Rows after this position; `null`: from the first one. */
  readonly after: number | null;
  /** The last position; `null`: the newest when the export begins. */
  readonly until: number | null;
  /** `null`: all workspaces. */
  readonly workspace: string | null;
}

/**
 * Lines of an export: a header, and the rows of the log.
 *
 * @throws {UsageError} for positions that the log does not have. @throws {CommandError} for a log
 * that is not whole.
 */
async function* exportLog(
  log: EvidenceLog,
  { after, until, workspace }: ExportedRows,
): AsyncGenerator<string, void> {
  const from = await exportStart(log, after);
  const to = await exportEnd(log, until, from);
  yield formatHeader({ from, to, workspace });
  /** Running requests of the workspace: an outcome does not name its workspace. */
  const running = new Set<JsonValue | undefined>();
  const isSelected = ({ position, kind, record }: ChainRow): boolean => {
    if (workspace === null) return true;
    const facts = parseJsonObject(record);
    if (facts === null) throw interrupted(position);
    if (kind === "outcome") return running.delete(facts.requestId);
    if (facts.workspace !== workspace) return false;
    running.add(facts.requestId);
    return true;
  };
  let previous = from;
  for await (const row of walkLog(log, from.position)) {
    if (row.position > to.position) break;
    if (row.position !== previous.position + 1) throw interrupted(previous.position + 1);
    // A line feed in a record would make two rows of it.
    if (row.record.includes("\n")) throw interrupted(row.position);
    if (isSelected(row)) yield formatRow({ ...row, previous: previous.hash });
    previous = row;
  }
  if (previous.position !== to.position) throw interrupted(previous.position + 1);
}

async function exportStart(log: EvidenceLog, after: number | null): Promise<ChainLink> {
  const { from } = await startOf(log);
  if (after === null || after === from.position) return from;
  if (after < from.position) {
    throw new UsageError(
      `--after: rows up to ${from.position} were pruned; give that position, or leave it out`,
    );
  }
  return rowAt(log, after, "--after");
}

async function exportEnd(
  log: EvidenceLog,
  until: number | null,
  from: ChainLink,
): Promise<ChainLink> {
  if (until === null) return log.head();
  if (until < from.position)
    throw new UsageError(
      `--until: is before ${from.position}, where the export begins; give a later position`,
    );
  return until === from.position ? from : rowAt(log, until, "--until");
}

async function rowAt(log: EvidenceLog, position: number, flag: string): Promise<ChainLink> {
  if (position === 0) return GENESIS;
  const [row] = await log.log({ after: position - 1, limit: 1 });
  if (row?.position !== position)
    throw new UsageError(
      `${flag}: the log has no row ${position}; see the newest row with: signalbox evidence verify`,
    );
  return row;
}

function interrupted(position: number) {
  return new CommandError(
    `the export ends before position ${position}: rows were pruned meanwhile, or the log is damaged; run "signalbox evidence verify"`,
  );
}

/**
 * Lines of an export of the whole policy log: a header, and the rows.
 *
 * @throws {CommandError} for a log that is not whole.
 */
async function* exportPolicyLog(log: PolicyLogStore): AsyncGenerator<string, void> {
  const to = await log.head();
  yield formatPolicyHeader({ to });
  let position = 0;
  for await (const row of walkPolicyLog(log)) {
    if (position === to.position) break;
    // A line feed in a record would make two rows of it.
    if (row.position !== position + 1 || row.record.includes("\n")) break;
    yield formatPolicyRow(row);
    ({ position } = row);
  }
  if (position === to.position) return;
  throw new CommandError(
    `the export ends before position ${position + 1}: the policy log is damaged; run "signalbox evidence verify"`,
  );
}

/**
 * Writes lines to a new file, or to stdout where `path` is `null`; the file has its name only once
 * it is whole and on disk.
 *
 * @throws {CommandError} where a file of this name exists, or it cannot be written; then nothing is
 * left behind
 */
export async function writeExport(
  path: string | null,
  io: CommandIo,
  lines: AsyncIterable<string>,
): Promise<void> {
  if (path === null) {
    for await (const line of lines) io.stdout(`${line}\n`);
    return;
  }
  const partial = `${path}.${process.pid}.partial`;
  try {
    refuseExisting(path);
    const file = createWriteStream(partial, { flags: "wx", mode: 0o600, flush: true });
    await pipeline(
      lines,
      async function* (read: typeof lines) {
        for await (const line of read) yield `${line}\n`;
      },
      file,
    );
    refuseExisting(path);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw notWritten(error);
  }
  // Best effort: some file systems cannot sync a folder.
  const folder = await openFile(dirname(path), "r").catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function refuseExisting(path: string) {
  if (existsSync(path))
    throw new CommandError("--output: the file exists already; give the path of a new file");
}

/** Converts an error of the file system; other errors, such as the store's, stay as they are. */
function notWritten(error: unknown) {
  const code = errorCode(error);
  if (typeof code !== "string" || !/^E[A-Z0-9]{2,20}$/.test(code)) return error;
  return new CommandError(
    `--output: the file cannot be written (${code}); check the path, its access rights and the free space on the disk`,
  );
}
