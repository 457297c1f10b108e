import type { JsonObject } from "../../../canon/json.ts";
import { objectsOf, textOf } from "../../explain/members.ts";
import { readArguments } from "../../terminal/arguments.ts";
import { UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { formatTable } from "../../terminal/table.ts";
import { COMMON_FLAGS, COMMON_HELP, printJson, READING_CODES, READING_KEY, runLifecycle } from "./command.ts";
import type { PolicyServer } from "./server/client.ts";
import { notPolicies, parseView, type PolicyView, type SlotView } from "./server/view.ts";
import { contentText, timeText } from "./words/contents.ts";
import { driftText } from "./words/drift.ts";
import { missingTexts } from "./words/missing.ts";

const HELP = `Usage: signalbox policy list [options]

Lists the policies of a running server: what acts, what is watched, and what is missing for it to act.

  --ended               Policies that have ended, too.
${COMMON_HELP}
${READING_KEY}
${READING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, ended: { type: "boolean" } } as const;

/** `signalbox policy list`; gives the exit code. */
export function listPolicies(argv: readonly string[], io: CommandIo): Promise<number> {
  return runLifecycle(
    "list",
    HELP,
    () => readArguments(argv, FLAGS),
    io,
    async ({ values, positionals, server }) => {
      if (positionals.length > 0)
        throw new UsageError("takes flags only; one policy is shown by: signalbox policy show");
      const answer = await server.list(values.ended === true ? { ended: "true" } : {});
      if (answer["object"] !== "list" || !Array.isArray(answer["data"])) throw notPolicies();
      if (values.json === true) printJson(answer, io);
      else io.stdout(await formatList(answer, server));
    },
  );
}

async function formatList(answer: JsonObject, server: PolicyServer): Promise<string> {
  const views = await withMissing(objectsOf(answer, "data").map(parseView), server);
  const set = `policy set ${textOf(answer, "policy_set")}, table ${textOf(answer, "table_revision").slice(0, 12)}`;
  if (views.length === 0) return `No policies (${set}).\n`;
  const rows = views.map((view) => [
    view.id,
    view.state,
    ...slotCells(view.enforced),
    ...slotCells(view.candidate),
    approvalsCell(view),
    driftText(view) === "" ? "-" : driftText(view),
    missingCell(view),
  ]);
  const head = ["ID", "STATE", "ENFORCED", "SINCE", "CANDIDATE", "SINCE", "APPROVALS", "DRIFT", "MISSING"];
  return `${set}\n\n${formatTable([head, ...rows])}`;
}

/** A list does not say what is missing, which depends on who asks: policies with a candidate are asked one by one. */
async function withMissing(views: readonly PolicyView[], server: PolicyServer): Promise<readonly PolicyView[]> {
  const known: PolicyView[] = [];
  for (const view of views) {
    known.push(view.candidate === null || view.missing !== null ? view : (await server.policy(view.id)).view);
  }
  return known;
}

function slotCells(slot: SlotView | null): readonly string[] {
  if (slot === null) return ["-", "-"];
  return [slot.content === "removal" ? `${contentText(slot)} end` : contentText(slot), timeText(slot.since)];
}

function approvalsCell({ candidate, approvals, requirements }: PolicyView): string {
  return candidate === null ? "-" : `${approvals.length} of ${requirements.approvals}`;
}

/** What keeps the candidate from acting. */
function missingCell({ candidate, missing }: PolicyView): string {
  if (candidate === null) return "-";
  if (candidate.held) return "held";
  if (missing === null) return "?";
  return missing.length === 0 ? "nothing: promote it" : missingTexts(missing);
}
