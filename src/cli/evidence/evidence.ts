import { formatTime, readTime } from "../../canon/rfc3339.ts";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { exportLog, exportPolicyLog, writeExport } from "./export.ts";
import {
  formatLink,
  printVerified,
  readAnchors,
  readLink,
  readPosition,
  verifyFile,
  verifyLog,
  verifyPolicyLog,
} from "./verify.ts";
import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import {
  DATABASE_HELP,
  TABLE_FORMAT_HELP,
  listFlags,
  readNumber,
  readInstant,
  readValue,
  required,
  commandGroup,
  switches,
  textFlags,
  wantsJson,
  type FlagValues,
} from "../terminal/command-line.ts";
import { withStore } from "../terminal/open-store.ts";
import type { EvidenceEntry, EvidenceStore } from "../../evidence/evidence-store.ts";
import { endedAt, TERMINALS } from "../../evidence/record.ts";
import { OUTCOMES } from "../../http/contract/decision-schemas.ts";

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
