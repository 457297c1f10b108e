import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../canon/json.ts";
import type { StoredContent } from "../../canon/policy.ts";
import {
  type ChainCause,
  type ChainFault,
  chainHash,
  type ChainLink,
  type ChainRow,
  chainVerifier,
  type ChainVerifier,
  GENESIS,
} from "../../evidence/chain.ts";
import type {
  EvidenceAnchor,
  EvidenceLog,
  MissingBatches,
  NotedHead,
} from "../../evidence/evidence-store.ts";
import {
  type ExportHeader,
  type PolicyExportHeader,
  readHeader,
  readPolicyHeader,
  readPolicyRow,
  readRow,
} from "../../evidence/export-line.ts";
import {
  describeContentFault,
  describePolicyLogFault,
  keptContentCause,
  type PolicyLogFault,
  PolicyLogVerifier,
  type NamedContent,
} from "../../lifecycle/fold.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../lifecycle/records.ts";
import { KeptContentError, readStoredContent } from "../../policy/kept-content.ts";
import { CommandError, type CommandIo, EXIT, UsageError } from "../terminal/command-io.ts";
import { listText } from "../terminal/printing.ts";
import { resolve } from "node:path";

const CAUSES: Readonly<Record<ChainCause, string>> = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, was changed after it was written",
  column:
    "the index columns of the row differ from its record, or a finished request is listed as running",
  unreadable: "the row has no record with a request id",
  duplicate: "the request has such a row already",
  outcome_before_decision: "an outcome without a decision before it",
  anchor: "the hash at this position differs from the checkpoint",
  end: "the log ends before the position of a checkpoint",
};

function describeFault({ position, cause }: ChainFault) {
  return `does not verify at position ${position}: ${CAUSES[cause]} (${cause})`;
}

function describeMissing(missing: readonly MissingBatches[]): string {
  const names = missing.map(
    ({ process, first, last }) => `${first} to ${last} of process ${process}`,
  );
  return `lacks batches of records that were written: ${listText(names)} (missing); look for them in the former primary, or in a later backup`;
}

/**
 * Attempts to read the log: a prune deletes rows ahead of the reader, which then begins again after
 * them.
 */
const RESTARTS = 5;

/** Message about a log that ends before a noted position. */
function describeCutEnd(head: ChainLink, remembered: readonly ChainLink[]): string {
  const furthest = remembered.reduce(
    (far, link) => (link.position > far.position ? link : far),
    head,
  );
  return (
    `does not verify at position ${head.position + 1}: it ends at ${formatLink(head)}, before ${formatLink(furthest)}, ` +
    `which was noted; records are missing at its end (end)`
  );
}

/**
 * Verifies the whole log.
 *
 * @param noted positions in the chain that were noted elsewhere
 * @throws {CommandError} when a noted position was pruned and is not among the anchors, so that it
 * cannot be checked
 */
export async function verifyLog(log: EvidenceLog, noted: readonly ChainLink[]): Promise<Verified> {
  // Read before the rows: a running server writes both.
  const server = await log.notedHead();
  for (let attempt = 1; ; attempt += 1) {
    const { from, anchors } = await startOf(log);
    const remembered = [...anchors, ...noted, ...(server === null ? [] : [server])];
    const verifier = chainVerifier({ from, remembered });
    const fault =
      checkNoted(from, anchors, noted) ??
      (await verifyRows(verifier, walkLog(log, from.position))) ??
      (await verifyOpen(verifier, log));
    const missing = await log.missing();
    if (fault === null && missing.length === 0) {
      const { head, rows, running } = verifier;
      const begins =
        from.position === 0 ? "from the first row on" : `after the anchor ${from.position}`;
      const links = anchors.map(formatLink);
      return provenLog(
        [
          `verified ${rows} rows ${begins}`,
          `without an outcome yet: ${running}`,
          ...anchors.map(
            ({ at }, index) => `anchor ${links[index]} of ${new Date(at).toISOString()}`,
          ),
          `head ${formatLink(head)}`,
        ],
        { rows, begins_after: from.position, running, anchors: links },
        { head, noted, flag: "--anchor", server },
      );
    }
    const wasPruned = fault?.cause === "gap" && (await startOf(log)).from.position > from.position;
    if (!wasPruned || attempt === RESTARTS) {
      const ends = fault?.cause === "end" ? describeCutEnd(verifier.head, remembered) : null;
      const faults = [
        ...(fault === null ? [] : [ends ?? describeFault(fault)]),
        ...(missing.length === 0 ? [] : [describeMissing(missing)]),
      ];
      return notVerified(`the log ${faults.join("; it ")}`, {
        ...fault,
        ...(missing.length > 0 && { missing: missing.map((one) => ({ ...one })) }),
      });
    }
  }
}

/**
 * Compares the store's list of running requests with the decisions that have no outcome, while
 * requests start and end.
 */
async function verifyOpen(verifier: ChainVerifier, log: EvidenceLog) {
  const verifiedTo = verifier.head.position;
  const before = verifier.runningPositions();
  const openRequests = new Set(await log.openRequests());
  const wrong = (position: number): ChainFault => ({ position, cause: "column" });
  for (const requestId of openRequests) {
    const end = verifier.endOf(requestId);
    if (end !== null) return wrong(end);
  }
  // Requests that ended while the list was read have their outcomes in later rows.
  const fault = await verifyRows(verifier, walkLog(log, verifiedTo));
  if (fault !== null) return fault;
  const running = verifier.runningPositions();
  for (const [requestId, position] of before) {
    if (running.has(requestId) && !openRequests.has(requestId)) return wrong(position);
  }
  for (const requestId of openRequests) {
    if (!running.has(requestId) && verifier.endOf(requestId) === null)
      return wrong(verifier.head.position);
  }
  return null;
}

/** Compares noted positions of pruned rows with the anchors. */
function checkNoted(
  from: ChainLink,
  anchors: readonly EvidenceAnchor[],
  noted: readonly ChainLink[],
): ChainFault | null {
  for (const { position, hash } of noted) {
    if (position === 0 || position >= from.position) continue;
    const anchor = anchors.find((one) => one.position === position);
    if (anchor === undefined) {
      throw new CommandError(
        `position ${position} cannot be checked: rows up to ${from.position} were pruned, and no anchor has this position`,
      );
    }
    if (anchor.hash !== hash) return { position, cause: "anchor" };
  }
  return null;
}

/**
 * Verifies an export, without a database: of a whole log its chain, of a selection each row by
 * itself.
 *
 * @throws {CommandError} for a file that cannot be read or is no export
 */
export async function verifyFile(
  path: string,
  positions: { readonly evidence: readonly ChainLink[]; readonly policies: readonly ChainLink[] },
): Promise<Verified> {
  const lines = readLines(path);
  const first = await lines.next();
  const text = first.done === true ? "" : first.value;
  const policyHeader = readPolicyHeader(text);
  if (policyHeader !== null) {
    refuse(
      positions.evidence,
      "of policies; --expect-head and --anchor are for evidence, --policy-head is for these",
    );
    return verifyPolicyFile(policyHeader, lines, positions.policies);
  }
  const header = readHeader(text);
  if (header === null)
    throw new CommandError(
      "--file: is not an export of evidence: its first line must be the header that export writes",
    );
  refuse(positions.policies, "of evidence; --policy-head is for exports of policies");
  const noted = positions.evidence;
  if (header.workspace !== null && noted.length > 0) {
    throw new CommandError(
      "--file: holds a selection; positions in the chain can only be checked against a whole export",
    );
  }
  return header.workspace === null
    ? await verifyChain(header, lines, noted)
    : await verifySelection(lines);
}

function faultyExport(fault: ChainFault, sentence = describeFault(fault)) {
  return notVerified(`the export ${sentence}`, { ...fault });
}

function refuse(positions: readonly ChainLink[], kind: string) {
  if (positions.length > 0) throw new CommandError(`--file: is an export ${kind}`);
}

async function verifyChain(
  { from, to }: ExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
): Promise<Verified> {
  refuseUncovered(noted, from.position, to.position);
  const verifier = chainVerifier({ from, remembered: [to, ...noted] });
  const fault = await verifyRows(verifier, rowsOf(lines, readRow, "an export"));
  const { head } = verifier;
  if (fault !== null)
    return faultyExport(fault, fault.cause === "end" ? describeCutEnd(head, [to]) : undefined);
  return provenLog(
    [`verified ${verifier.rows} rows after ${formatLink(from)}`, `last ${formatLink(head)}`],
    { rows: verifier.rows, begins_after: from.position },
    { head, noted, flag: "--anchor" },
  );
}

async function verifySelection(lines: AsyncIterable<string>): Promise<Verified> {
  let rows = 0;
  let last = 0;
  for await (const { position, previous, kind, record, hash } of rowsOf(
    lines,
    readRow,
    "an export",
  )) {
    if (position <= last) return faultyExport({ position, cause: "gap" });
    if (chainHash(previous, position, kind, record) !== hash)
      return faultyExport({ position, cause: "hash" });
    last = position;
    rows += 1;
  }
  return {
    ok: true,
    lines: [
      `verified ${rows} rows, each by itself: a selection of one workspace is not a chain`,
      "whether rows are missing can only be checked in an export of the whole log",
    ],
    json: { verified: true, rows, selection: true },
  };
}

/** @throws {CommandError} for a file that cannot be read */
async function* readLines(path: string): AsyncGenerator<string, void> {
  try {
    yield* createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  } catch {
    throw new CommandError("--file: cannot be read; check the path and its access rights");
  }
}

const POLICY_PAGE = 1_000;

/**
 * Verifies the policy log and the contents that its rows name.
 *
 * @param noted positions in the log that were noted elsewhere
 */
export async function verifyPolicyLog(
  log: PolicyLogStore,
  noted: readonly ChainLink[],
): Promise<Verified> {
  // The rows must reach the head of the store; more may be added meanwhile.
  const verifier = new PolicyLogVerifier([await log.head(), ...noted]);
  const fault = await verifyRows(verifier, walkPolicyLog(log));
  if (fault !== null) return faultyPolicyLog("the policy log", fault);
  for (const content of verifier.contents) {
    const cause = keptContentCause(content, await log.content(content.digest), (stored) =>
      digestOf(stored, content.module),
    );
    if (cause !== null)
      return notVerified(`the policy log ${describeContentFault(content, cause)}`, { cause });
  }
  const stored = verifier.contents.length;
  return provenPolicies(verifier, noted, `contents stored: ${stored}`, "policy ", {
    contents: stored,
  });
}

/**
 * Every policy content that the log names, each once.
 *
 * @throws {CommandError} where the log itself does not verify.
 */
export async function verifiedContents(log: PolicyLogStore): Promise<readonly NamedContent[]> {
  const verifier = new PolicyLogVerifier([await log.head()]);
  const fault = await verifyRows(verifier, walkPolicyLog(log));
  if (fault !== null) throw new CommandError(`the policy log ${describePolicyLogFault(fault)}`);
  return verifier.contents;
}

/**
 * Verifies an export of the policy log; contents are not in it.
 *
 * @param lines those after the header. @throws {CommandError} for a line that is no row, and a
 * noted position that the export does not reach
 */
async function verifyPolicyFile(
  { to }: PolicyExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
): Promise<Verified> {
  refuseUncovered(noted, 0, to.position);
  const verifier = new PolicyLogVerifier([to, ...noted]);
  const fault = await verifyRows(verifier, rowsOf(lines, readPolicyRow, "a policy log export"));
  if (fault !== null) return faultyPolicyLog("the export", fault);
  return provenPolicies(
    verifier,
    noted,
    "contents: not in an export; verify the database for them",
  );
}

export function walkPolicyLog(log: PolicyLogStore): AsyncGenerator<PolicyLogRow, void> {
  return walk((after) => log.read({ after, limit: POLICY_PAGE }), 0);
}

/** `null` if the content cannot be read. */
function digestOf(stored: StoredContent, module: string): string | null {
  try {
    return readStoredContent(stored, module).policy.digest;
  } catch (error) {
    if (error instanceof KeptContentError) return null;
    throw error;
  }
}

/** @param contents line about them. @param prefix of the last lines, for those of a database. */
function provenPolicies(
  verifier: PolicyLogVerifier,
  noted: readonly ChainLink[],
  contents: string,
  prefix: string = "",
  more: JsonObject = {},
): Verified {
  const { head } = verifier;
  const { verified, claimed } = verifier.reports;
  const [promotions, rollbacks] = [verifier.count("promoted"), verifier.count("rolled_back")];
  return provenLog(
    [
      `verified ${head.position} rows of policies`,
      `promotions: ${promotions}`,
      `rollbacks: ${rollbacks}`,
      `reports of approvers: ${verified} recomputed by the server, ${claimed} only claimed`,
      contents,
      `${prefix === "" ? "last" : `${prefix}head`} ${formatLink(head)}`,
    ],
    { rows: head.position, promotions, rollbacks, reports: { verified, claimed }, ...more },
    { head, noted, flag: "--policy-head" },
    prefix,
  );
}

function faultyPolicyLog(log: string, fault: PolicyLogFault) {
  return notVerified(`${log} ${describePolicyLogFault(fault)}`, { ...fault });
}

/** The result of verifying one log. */
type Verified =
  | { readonly ok: true; readonly lines: readonly string[]; readonly json: JsonObject }
  | { readonly ok: false; readonly sentence: string; readonly json: JsonObject };

/** Result for a log without a fault, with the proof of its end. @param prefix of that line. */
function provenLog(
  lines: readonly string[],
  json: JsonObject,
  end: LogEnd,
  prefix: string = "",
): Verified {
  return {
    ok: true,
    lines: [...lines, `${prefix}${describeEnd(end)}`],
    json: { verified: true, ...json, head: formatLink(end.head), end: endJson(end) },
  };
}

function notVerified(sentence: string, details: JsonObject): Verified {
  return { ok: false, sentence, json: { verified: false, ...details, message: sentence } };
}

/** Prints the results, as lines or as one JSON object by name. @returns the exit code. */
export function printVerified(
  results: Readonly<Record<string, Verified>>,
  json: boolean,
  io: CommandIo,
): number {
  const all = Object.values(results);
  if (json) {
    const members = Object.entries(results).map(([name, result]) => [name, result.json]);
    io.stdout(`${JSON.stringify({ format: 2, ...Object.fromEntries(members) })}\n`);
  }
  for (const result of json ? [] : all) {
    if (result.ok) io.stdout(`${result.lines.join("\n")}\n`);
    else io.stderr(`signalbox evidence: ${result.sentence}\n`);
  }
  return all.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed;
}

/** Evidence that no rows are missing at the end of a log. */
interface LogEnd {
  /** The newest row that verified. */
  readonly head: ChainLink;
  /** Verified positions that were noted outside of the database's host. */
  readonly noted: readonly ChainLink[];
  /** The flag for such positions. */
  readonly flag: string;
  /** The head that the server wrote beside the database. */
  readonly server?: NotedHead | null;
}

function describeEnd({ head, noted, flag, server = null }: LogEnd): string {
  const position = provenTo(noted);
  const after = head.position - position;
  if (position > 0 && after <= 0)
    return `end: nothing is missing up to ${position}, as a head noted elsewhere proves`;
  const beyond =
    position > 0
      ? `proven up to ${position} by a head noted elsewhere; the ${after} rows after it are not`
      : "not proven";
  const reached =
    server === null
      ? ""
      : ` (it reaches what the server noted in ${server.file}, which an owner of the database can change)`;
  return `end: ${beyond}${reached}; missing rows at the end show only with a head noted elsewhere (${flag})`;
}

function endJson({ head, noted, server = null }: LogEnd): JsonObject {
  const position = provenTo(noted);
  return {
    proven: position > 0 && position >= head.position,
    proven_to: position === 0 ? null : position,
    noted_by_server: server === null ? null : formatLink(server),
  };
}

function provenTo(noted: readonly ChainLink[]) {
  return Math.max(0, ...noted.map(({ position }) => position));
}

const LINK = /^([0-9]{1,15}):([0-9a-f]{64})$/;
const LINK_HINT = 'give POSITION:HASH, such as "signalbox evidence anchor" prints';

/** `POSITION:HASH` */
export function formatLink({ position, hash }: ChainLink): string {
  return `${position}:${hash}`;
}

/** Parses `POSITION:HASH`. @throws {UsageError} */
export function readLink(text: string, flag: string): ChainLink {
  const [, digits = "", hash = ""] = LINK.exec(text) ?? [];
  if (digits === "") throw new UsageError(`${flag}: ${LINK_HINT}`);
  return { position: Number(digits), hash };
}

/**
 * Parses `POSITION:HASH`, or reads a file with one on each line.
 *
 * @throws {UsageError} for a file that cannot be read or has another line
 */
export function readAnchors(text: string, cwd: string): readonly ChainLink[] {
  if (LINK.test(text)) return [readLink(text, "--anchor")];
  let lines: readonly string[];
  try {
    lines = readFileSync(resolve(cwd, text), "utf8")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } catch {
    throw new UsageError(
      `--anchor: ${LINK_HINT}, or a file of such lines; there is no such file that can be read`,
    );
  }
  if (lines.length === 0) throw new UsageError(`--anchor: the file is empty; ${LINK_HINT}`);
  return lines.map((line) => readLink(line, "--anchor"));
}

/** Parses a position. @throws {UsageError} */
export function readPosition(text: string, flag: string): number {
  if (!/^[0-9]{1,15}$/.test(text))
    throw new UsageError(`${flag}: give a position, a whole number from 0`);
  return Number(text);
}

/** Verifies all rows. @returns the first fault. */
async function verifyRows<Row, Fault>(
  verifier: {
    readonly begin: () => Fault | null;
    readonly add: (row: Row) => Fault | null;
    readonly end: () => Fault | null;
  },
  rows: AsyncIterable<Row>,
): Promise<Fault | null> {
  const begun = verifier.begin();
  if (begun !== null) return begun;
  for await (const row of rows) {
    const fault = verifier.add(row);
    if (fault !== null) return fault;
  }
  return verifier.end();
}

const PAGE = 2_000;

export function walkLog(log: EvidenceLog, after: number): AsyncGenerator<ChainRow, void> {
  return walk((position) => log.log({ after: position, limit: PAGE }), after);
}

/** Reads rows page by page. @param read returns a page of rows after a position. */
async function* walk<Row extends { readonly position: number }>(
  read: (after: number) => Promise<readonly Row[]>,
  after: number,
): AsyncGenerator<Row, void> {
  for (let position = after; ;) {
    const rows = await read(position);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    ({ position } = last);
  }
}

/** Rows of an export. @param lines after the header. @throws {CommandError} for an invalid line. */
async function* rowsOf<Row>(
  lines: AsyncIterable<string>,
  read: (line: string) => Row | null,
  file: string,
): AsyncGenerator<Row, void> {
  let number = 1;
  for await (const line of lines) {
    number += 1;
    const row = read(line);
    if (row === null) throw new CommandError(`--file: line ${number} is not a row of ${file}`);
    yield row;
  }
}

/** @throws {CommandError} for a noted position outside of an export. */
function refuseUncovered(noted: readonly ChainLink[], from: number, to: number) {
  const position = noted.map((link) => link.position).find((one) => one < from || one > to);
  if (position === undefined) return;
  throw new CommandError(
    `position ${position} cannot be checked: the export covers ${from} to ${to}`,
  );
}

/** Where the log begins now: after the newest anchor before its first row. */
export async function startOf(log: EvidenceLog) {
  const [first] = await log.log({ after: 0, limit: 1 });
  const anchors = await log.anchors();
  const before = first === undefined ? Number.POSITIVE_INFINITY : first.position;
  const from: ChainLink = anchors.findLast(({ position }) => position < before) ?? GENESIS;
  return { from, anchors };
}
