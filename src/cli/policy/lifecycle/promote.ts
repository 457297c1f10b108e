import { formatRevision } from "../../../canon/policy.ts";
import { line, span, type Line } from "../../simulate/formats/terminal/layout.ts";
import { readArguments } from "../../terminal/arguments.ts";
import type { CommandIo } from "../../terminal/command-io.ts";
import {
  CHANGING_CODES,
  CHANGING_KEY,
  COMMON_FLAGS,
  COMMON_HELP,
  policyId,
  printJson,
  printLines,
  runLifecycle,
} from "./command.ts";
import { EXPECT_FLAGS, EXPECT_HELP, readExpected, refuseUnexpected } from "./expected.ts";
import { NotNowError } from "./server/refusal.ts";
import type { PolicyView, SlotView } from "./server/view.ts";
import { commandText, contentText } from "./words/contents.ts";
import { missingTexts } from "./words/missing.ts";
import { outcomeLines } from "./words/outcome.ts";

const HELP = `Usage: signalbox policy promote ID [options]

Makes the candidate of a policy act instead of what acts now, for all servers of the store at once. The candidate may be the
policy's end, when its file is gone. Promotes what it has just read and nothing else: when somebody is quicker, nothing is done.

${EXPECT_HELP}${COMMON_HELP}
${CHANGING_KEY}
${CHANGING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, ...EXPECT_FLAGS } as const;

/** `signalbox policy promote`; gives the exit code. */
export function promotePolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, FLAGS);
  return runLifecycle("promote", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const expected = readExpected(values);
    const { view } = await server.policy(id);
    refuseUnexpected(view, expected);
    const { candidate, enforced } = view;
    if (candidate === null) {
      throw new NotNowError("there is no candidate; new content becomes one when a server reads its files");
    }
    if (values.json !== true) printLines(planLines(view, candidate), io);
    const body = {
      expected: {
        candidate_revision: formatRevision(candidate.revision),
        enforced_revision: formatRevision(enforced?.revision ?? 0),
      },
    };
    const changed = await server.change(id, "promotions", body, view.etag);
    if (values.json === true) printJson(changed.json, io);
    else {
      const undo = commandText(["policy", "rollback", id], server.flag);
      printLines(outcomeLines(`promoted ${contentText(candidate)}`, changed.view, undo), io);
    }
  });
}

/** What will happen, before it does. */
function planLines({ id, enforced, missing }: PolicyView, candidate: SlotView): readonly Line[] {
  const from = enforced === null ? "nothing" : contentText(enforced);
  const to = candidate.content === "removal" ? `its end, ${contentText(candidate)}` : contentText(candidate);
  const lacking = missing === null || missing.length === 0 ? "" : `; missing: ${missingTexts(missing)}`;
  return [line(0, span(`${id}: promoting ${from} → ${to}${lacking}`))];
}
