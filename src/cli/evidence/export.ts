import { type JsonValue, parseJsonObject } from "../../canon/json.ts";
import { GENESIS, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import type { EvidenceLog } from "../../evidence/evidence-store.ts";
import { CommandError, UsageError, errorCode, type CommandIo } from "../terminal/command-io.ts";
import {
  formatHeader,
  formatPolicyHeader,
  formatPolicyRow,
  formatRow,
  type ExportHeader,
} from "../../evidence/export-line.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { startOf, walkLog, walkPolicyLog } from "./verify.ts";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { dirname } from "node:path";

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
 * @throws {UsageError} for positions that the log does not have. @throws {CommandError} when it
 * cannot be written.
 */
export async function exportLog(
  log: EvidenceLog,
  options: ExportOptions,
  io: CommandIo,
): Promise<void> {
  const from = await exportStart(log, options.after);
  const to = await exportEnd(log, options.until, from);
  const { output, workspace } = options;
  await writeExport(output, io, (write) => writeRows(log, { from, to, workspace }, write));
}

async function writeRows(
  log: EvidenceLog,
  { from, to, workspace }: ExportHeader,
  write: (text: string) => void,
) {
  write(`${formatHeader({ from, to, workspace })}\n`);
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
    if (isSelected(row)) write(`${formatRow({ ...row, previous: previous.hash })}\n`);
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
    // A line feed in a record would make two rows of it.
    if (row.position !== position + 1 || row.record.includes("\n")) break;
    write(`${formatPolicyRow(row)}\n`);
    ({ position } = row);
  }
  if (position === to.position) return;
  throw new CommandError(
    `the export ends before position ${position + 1}: the policy log is damaged; run "signalbox evidence verify"`,
  );
}

/**
 * Writes to a new file, or to stdout where `path` is `null`; the file has its name only once it is
 * whole and on disk.
 *
 * @throws {CommandError} where a file of this name exists, or it cannot be written; then nothing is
 * left behind
 */
export async function writeExport(
  path: string | null,
  io: CommandIo,
  write: (out: (text: string) => void) => Promise<void>,
): Promise<void> {
  if (path === null) return await write(io.stdout);
  if (existsSync(path)) throw existing();
  const partial = `${path}.${process.pid}.partial`;
  const descriptor = attempt(() => openSync(partial, "wx", 0o600));
  try {
    try {
      await write((text) => writeWhole(descriptor, text));
      attempt(() => fsyncSync(descriptor));
    } finally {
      attempt(() => closeSync(descriptor));
    }
    if (existsSync(path)) throw existing();
    attempt(() => renameSync(partial, path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
  // Best effort: some file systems cannot sync a folder.
  const folder = await openFile(dirname(path), "r").catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

/** Loops, because one call may write a part only, such as on a nearly full disk. */
function writeWhole(descriptor: number, text: string) {
  const bytes = Buffer.from(text, "utf8");
  for (let written = 0; written < bytes.length;) {
    const from = written;
    written += attempt(() => writeSync(descriptor, bytes, from));
  }
}

function attempt<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    const code = errorCode(error);
    const shown = typeof code === "string" && /^[A-Z0-9_]{2,20}$/.test(code) ? ` (${code})` : "";
    throw new CommandError(
      `--output: the file cannot be written${shown}; check the path, its access rights and the free space on the disk`,
    );
  }
}

function existing() {
  return new CommandError("--output: the file exists already; give the path of a new file");
}
