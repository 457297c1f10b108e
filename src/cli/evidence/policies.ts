import type { ChainLink } from "../../evidence/chain.ts";
import {
  formatPolicyHeader,
  formatPolicyRow,
  readPolicyRow,
  type PolicyExportHeader,
} from "../../evidence/export-line.ts";
import {
  describeContentFault,
  describePolicyLogFault,
  keptContentCause,
  type PolicyLogFault,
  PolicyLogVerifier,
  type SpokenContent,
} from "../../lifecycle/verify-log.ts";
import { KeptContentError, readStoredContent } from "../../policy/kept-content.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import type { StoredContent } from "../../canon/policy.ts";
import type { JsonObject } from "../../canon/json.ts";
import { CommandError } from "../terminal/command-io.ts";
import {
  formatLink,
  describeEnd,
  endJson,
  notVerified,
  type LogEnd,
  type Verified,
} from "./verified.ts";
import { refuseUncovered, rowsOf, verifyRows, walk } from "./verify.ts";

const PAGE = 1_000;

/**
 * Verifies the whole policy log and the contents that it speaks of.
 *
 * @param noted positions in the log that were noted elsewhere
 */
export async function verifyPolicyLog(
  log: PolicyLogStore,
  noted: readonly ChainLink[],
): Promise<Verified> {
  // The head that the store names is a promise that the rows reach it; others may be added
  // meanwhile.
  const verifier = new PolicyLogVerifier([await log.head(), ...noted]);
  const fault = await verifyRows(verifier, walkPolicyLog(log));
  if (fault !== null) return failed("the policy log", fault);
  for (const spoken of verifier.contents) {
    const cause = keptContentCause(spoken, await log.content(spoken.digest), (kept) =>
      digestOf(kept, spoken.module),
    );
    if (cause !== null)
      return notVerified(`the policy log ${describeContentFault(spoken, cause)}`, { cause });
  }
  const end: LogEnd = { head: verifier.head, noted, flag: "--policy-head", server: null };
  return {
    ok: true,
    lines: [
      ...summary(verifier),
      `contents stored: ${verifier.contents.length}`,
      `policy head ${formatLink(verifier.head)}`,
      `policy ${describeEnd(end)}`,
    ],
    json: { ...summaryJson(verifier), contents: verifier.contents.length, end: endJson(end) },
  };
}

/**
 * Every content with rules that the log speaks of, each once.
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
export async function verifyPolicyFile(
  { to }: PolicyExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
): Promise<Verified> {
  refuseUncovered(noted, 0, to.position);
  const verifier = new PolicyLogVerifier([to, ...noted]);
  const fault = await verifyRows(verifier, rowsOf(lines, readPolicyRow, "a policy log export"));
  if (fault !== null) return failed("the export", fault);
  const end: LogEnd = { head: verifier.head, noted, flag: "--policy-head", server: null };
  return {
    ok: true,
    lines: [
      ...summary(verifier),
      "contents: not in an export; verify the database for them",
      `last ${formatLink(verifier.head)}`,
      describeEnd(end),
    ],
    json: { ...summaryJson(verifier), end: endJson(end) },
  };
}

/**
 * Writes the whole policy log, a line a row, below a header line.
 *
 * @throws {CommandError} when it cannot be written, or is not whole
 */
export async function exportPolicyLog(
  log: PolicyLogStore,
  write: (text: string) => void,
): Promise<void> {
  const to = await log.head();
  write(`${formatPolicyHeader({ to })}\n`);
  let position = 0;
  for await (const row of walkPolicyLog(log)) {
    if (position === to.position) break;
    // A line is a row only as long as no record has a second line; ours never have.
    if (row.position !== position + 1 || row.record.includes("\n")) break;
    write(`${formatPolicyRow(row)}\n`);
    ({ position } = row);
  }
  if (position === to.position) return;
  throw new CommandError(
    `the export ends before position ${position + 1}: the policy log is damaged; run "signalbox evidence verify"`,
  );
}

function walkPolicyLog(log: PolicyLogStore): AsyncGenerator<PolicyLogRow, void> {
  return walk((after) => log.read({ after, limit: PAGE }), 0);
}

/** `null` for what cannot be read. */
function digestOf(kept: StoredContent, module: string): string | null {
  try {
    return readStoredContent(kept, module).policy.digest;
  } catch (error) {
    if (error instanceof KeptContentError) return null;
    throw error;
  }
}

function summary(verifier: PolicyLogVerifier): readonly string[] {
  const { verified, claimed } = verifier.reports;
  return [
    `verified ${verifier.head.position} rows of policies`,
    `promotions: ${verifier.count("promoted")}`,
    `rollbacks: ${verifier.count("rolled_back")}`,
    `reports of approvers: ${verified} recomputed by the server, ${claimed} only claimed`,
  ];
}

function summaryJson(verifier: PolicyLogVerifier): JsonObject {
  const { verified, claimed } = verifier.reports;
  return {
    verified: true,
    rows: verifier.head.position,
    promotions: verifier.count("promoted"),
    rollbacks: verifier.count("rolled_back"),
    reports: { verified, claimed },
    head: formatLink(verifier.head),
  };
}

function failed(log: string, fault: PolicyLogFault): Verified {
  const { position, cause } = fault;
  return notVerified(`${log} ${describePolicyLogFault(fault)}`, { position, cause });
}
