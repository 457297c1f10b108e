import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../canon/json.ts";
import type { StoredContent } from "../../canon/policy.ts";
import {
  chainHash,
  ChainVerifier,
  type ChainCause,
  type ChainFault,
  type ChainLink,
} from "../../evidence/chain.ts";
import type { EvidenceAnchor, EvidenceLog, MissingBatches } from "../../evidence/evidence-store.ts";
import {
  readHeader,
  readPolicyHeader,
  readPolicyRow,
  readRow,
  type ExportHeader,
  type PolicyExportHeader,
} from "../../evidence/export-line.ts";
import {
  PolicyLogVerifier,
  describeContentFault,
  describePolicyLogFault,
  keptContentCause,
  type PolicyLogFault,
  type SpokenContent,
} from "../../lifecycle/fold.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../lifecycle/records.ts";
import { KeptContentError, readStoredContent } from "../../policy/kept-content.ts";
import { CommandError } from "../terminal/command-io.ts";
import { listText } from "../terminal/printing.ts";
import {
  formatLink,
  notVerified,
  refuseUncovered,
  rowsOf,
  startOf,
  provenLog,
  verifyRows,
  walk,
  walkLog,
  type Verified,
} from "./verified.ts";

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

function describeFault({ position, cause }: ChainFault): string {
  return `does not verify at position ${position}: ${CAUSES[cause]} (${cause})`;
}

function describeMissing(missing: readonly MissingBatches[]): string {
  const names = missing.map(
    ({ process, first, last }) => `${first} to ${last} of process ${process}`,
  );
  return `lacks batches of records that were written: ${listText(names)} (missing); look for them in the former primary, or in a later backup`;
}

/**
 * A prune while the log is read deletes rows ahead of the reader, which then begins again after
 * them.
 */
const RESTARTS = 5;

/** The message for a log that ends too early. */
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
  // Read before the rows: a server may go on writing and noting.
  const server = await log.notedHead();
  for (let attempt = 1; ; attempt += 1) {
    const { from, anchors } = await startOf(log);
    const remembered = [...anchors, ...noted, ...(server === null ? [] : [server])];
    const verifier = new ChainVerifier({ from, remembered });
    const fault =
      checkNoted(from, anchors, noted) ??
      (await verifyRows(verifier, walkLog(log, from.position))) ??
      (await verifyOpen(verifier, log));
    const missing = await log.missing();
    if (fault === null && missing.length === 0)
      return verifiedLog(from, verifier, anchors, { noted, server });
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
 * Whether the store lists as running exactly the decisions without an outcome, while requests start
 * and end.
 */
async function verifyOpen(verifier: ChainVerifier, log: EvidenceLog) {
  const seen = verifier.head.position;
  const before = verifier.runningPositions();
  const listed = new Set(await log.openRequests());
  const wrong = (position: number): ChainFault => ({ position, cause: "column" });
  for (const requestId of listed) {
    const end = verifier.endOf(requestId);
    if (end !== null) return wrong(end);
  }
  // Requests that ended while the list was read have their outcomes in later rows.
  const fault = await verifyRows(verifier, walkLog(log, seen));
  if (fault !== null) return fault;
  const running = verifier.runningPositions();
  for (const [requestId, position] of before) {
    if (running.has(requestId) && !listed.has(requestId)) return wrong(position);
  }
  for (const requestId of listed) {
    if (!running.has(requestId) && verifier.endOf(requestId) === null)
      return wrong(verifier.head.position);
  }
  return null;
}

/** Noted positions of pruned rows can only be compared with the anchors. */
function checkNoted(
  from: ChainLink,
  anchors: readonly EvidenceAnchor[],
  noted: readonly ChainLink[],
): ChainFault | null {
  for (const { position, hash } of noted) {
    if (position === 0 || position >= from.position) continue;
    const anchor = anchors.find((known) => known.position === position);
    if (anchor === undefined) {
      throw new CommandError(
        `position ${position} cannot be checked: rows up to ${from.position} were pruned, and no anchor has this position`,
      );
    }
    if (anchor.hash !== hash) return { position, cause: "anchor" };
  }
  return null;
}

function verifiedLog(
  from: ChainLink,
  verifier: ChainVerifier,
  anchors: readonly EvidenceAnchor[],
  known: Pick<Parameters<typeof provenLog>[2], "noted" | "server">,
): Verified {
  const { head, rows, running } = verifier;
  const begins =
    from.position === 0 ? "from the first row on" : `after the anchor ${from.position}`;
  return provenLog(
    [
      `verified ${rows} rows ${begins}`,
      `without an outcome yet: ${running}`,
      ...anchors.map(
        (anchor) => `anchor ${formatLink(anchor)} of ${new Date(anchor.at).toISOString()}`,
      ),
      `head ${formatLink(head)}`,
    ],
    { rows, begins_after: from.position, running, anchors: anchors.map(formatLink) },
    { head, flag: "--anchor", ...known },
  );
}

/** Positions that were noted elsewhere, in the log of requests and in that of policies. */
interface NotedPositions {
  readonly evidence: readonly ChainLink[];
  readonly policies: readonly ChainLink[];
}

/**
 * Verifies an export, without a database: of a whole log its chain, of a selection each row by
 * itself.
 *
 * @throws {CommandError} for a file that cannot be read or is no export
 */
export async function verifyFile(path: string, positions: NotedPositions): Promise<Verified> {
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

function faultyExport(fault: ChainFault, sentence = describeFault(fault)): Verified {
  return notVerified(`the export ${sentence}`, { ...fault });
}

function refuse(positions: readonly ChainLink[], kind: string): void {
  if (positions.length > 0) throw new CommandError(`--file: is an export ${kind}`);
}

async function verifyChain(
  { from, to }: ExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
): Promise<Verified> {
  refuseUncovered(noted, from.position, to.position);
  const verifier = new ChainVerifier({ from, remembered: [to, ...noted] });
  const fault = await verifyRows(verifier, rowsOf(lines, readRow, "an export"));
  const { head } = verifier;
  if (fault !== null)
    return faultyExport(fault, fault.cause === "end" ? describeCutEnd(head, [to]) : undefined);
  return provenLog(
    [`verified ${verifier.rows} rows after ${formatLink(from)}`, `last ${formatLink(head)}`],
    { rows: verifier.rows, begins_after: from.position },
    { head, noted, flag: "--anchor", server: null },
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
  // The rows must reach the head that the store names; more may be added meanwhile.
  const verifier = new PolicyLogVerifier([await log.head(), ...noted]);
  const fault = await verifyRows(verifier, walkPolicyLog(log));
  if (fault !== null) return faultyPolicyLog("the policy log", fault);
  for (const content of verifier.contents) {
    const cause = keptContentCause(content, await log.content(content.digest), (kept) =>
      digestOf(kept, content.module),
    );
    if (cause !== null)
      return notVerified(`the policy log ${describeContentFault(content, cause)}`, { cause });
  }
  const { head, contents } = verifier;
  return provenLog(
    [
      ...policyLines(verifier),
      `contents stored: ${contents.length}`,
      `policy head ${formatLink(head)}`,
    ],
    { ...policyJson(verifier), contents: contents.length },
    { head, noted, flag: "--policy-head", server: null },
    "policy ",
  );
}

/**
 * Every policy content that the log names, each once.
 *
 * @throws {CommandError} where the log itself does not verify.
 */
export async function verifiedContents(log: PolicyLogStore): Promise<readonly SpokenContent[]> {
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
  const { head } = verifier;
  return provenLog(
    [
      ...policyLines(verifier),
      "contents: not in an export; verify the database for them",
      `last ${formatLink(head)}`,
    ],
    policyJson(verifier),
    { head, noted, flag: "--policy-head", server: null },
  );
}

export function walkPolicyLog(log: PolicyLogStore): AsyncGenerator<PolicyLogRow, void> {
  return walk((after) => log.read({ after, limit: POLICY_PAGE }), 0);
}

/** `null` if the content cannot be read. */
function digestOf(kept: StoredContent, module: string): string | null {
  try {
    return readStoredContent(kept, module).policy.digest;
  } catch (error) {
    if (error instanceof KeptContentError) return null;
    throw error;
  }
}

function policyLines(verifier: PolicyLogVerifier): readonly string[] {
  const { verified, claimed } = verifier.reports;
  return [
    `verified ${verifier.head.position} rows of policies`,
    `promotions: ${verifier.count("promoted")}`,
    `rollbacks: ${verifier.count("rolled_back")}`,
    `reports of approvers: ${verified} recomputed by the server, ${claimed} only claimed`,
  ];
}

function policyJson(verifier: PolicyLogVerifier): JsonObject {
  const { verified, claimed } = verifier.reports;
  return {
    rows: verifier.head.position,
    promotions: verifier.count("promoted"),
    rollbacks: verifier.count("rolled_back"),
    reports: { verified, claimed },
  };
}

function faultyPolicyLog(log: string, fault: PolicyLogFault): Verified {
  return notVerified(`${log} ${describePolicyLogFault(fault)}`, { ...fault });
}
