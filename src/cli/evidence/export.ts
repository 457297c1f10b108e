import { type JsonObject, type JsonValue, parseJsonObject } from "../../canon/json.ts";
import { GENESIS, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import type { EvidenceLog } from "../../evidence/evidence-log.ts";
import { CommandError, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { writeExport } from "./export-file.ts";
import { formatHeader, formatRow, type ExportHeader } from "../../evidence/export-line.ts";
import { startOf, walkLog } from "./verify.ts";

interface ExportOptions {
  /** Rows after this position; `null` for all that there are. */
  readonly after: number | null;
  /** The last position; `null` for the newest when the export begins. */
  readonly until: number | null;
  readonly workspace: string | null;
  /** A file that does not exist yet; `null` for stdout. */
  readonly output: string | null;
}

/**
 * Writes rows of the log, a line each, below a header line.
 *
 * @throws {UsageError} for positions that the log does not have. @throws {CommandError} when it cannot be written.
 */
export async function exportLog(log: EvidenceLog, options: ExportOptions, io: CommandIo): Promise<void> {
  const from = await exportStart(log, options.after);
  const to = await exportEnd(log, options.until, from);
  const { output, workspace } = options;
  await writeExport(output, io, (write) => writeRows(log, { from, to, workspace }, write));
}

async function writeRows(
  log: EvidenceLog,
  { from, to, workspace }: ExportHeader,
  write: (text: string) => void,
): Promise<void> {
  write(`${formatHeader({ from, to, workspace })}\n`);
  const selection = new Selection(workspace);
  let previous = from;
  for await (const row of walkLog(log, from.position)) {
    if (row.position > to.position) break;
    if (row.position !== previous.position + 1) throw interrupted(previous.position + 1);
    // A line is a row only as long as no record has a second line; ours never have.
    if (row.record.includes("\n")) throw interrupted(row.position);
    if (selection.takes(row)) write(`${formatRow({ ...row, previous: previous.hash })}\n`);
    previous = row;
  }
  if (previous.position !== to.position) throw interrupted(previous.position + 1);
}

async function exportStart(log: EvidenceLog, after: number | null): Promise<ChainLink> {
  const { from } = await startOf(log);
  if (after === null || after === from.position) return from;
  if (after < from.position) {
    throw new UsageError(`--after: rows up to ${from.position} were pruned; give that position, or leave it out`);
  }
  return rowAt(log, after, "--after");
}

async function exportEnd(log: EvidenceLog, until: number | null, from: ChainLink): Promise<ChainLink> {
  if (until === null) return log.head();
  if (until < from.position)
    throw new UsageError(`--until: is before ${from.position}, where the export begins; give a later position`);
  return until === from.position ? from : rowAt(log, until, "--until");
}

async function rowAt(log: EvidenceLog, position: number, flag: string): Promise<ChainLink> {
  if (position === 0) return GENESIS;
  const [row] = await log.log({ after: position - 1, limit: 1 });
  if (row?.position !== position)
    throw new UsageError(`${flag}: the log has no row ${position}; see the newest row with: signalbox evidence verify`);
  return row;
}

/** Rows of one workspace; an outcome belongs to its decision's workspace, which it does not name itself. */
class Selection {
  readonly #workspace: string | null;
  readonly #running = new Set<JsonValue | undefined>();

  constructor(workspace: string | null) {
    this.#workspace = workspace;
  }

  takes({ position, kind, record }: ChainRow): boolean {
    if (this.#workspace === null) return true;
    const { requestId, workspace } = facts(position, record);
    if (kind === "outcome") return this.#running.delete(requestId);
    if (workspace !== this.#workspace) return false;
    this.#running.add(requestId);
    return true;
  }
}

function facts(position: number, record: string): JsonObject {
  const value = parseJsonObject(record);
  if (value === null) throw interrupted(position);
  return value;
}

function interrupted(position: number): CommandError {
  return new CommandError(
    `the export ends before position ${position}: rows were pruned meanwhile, or the log is damaged; run "signalbox evidence verify"`,
  );
}
