import { formatRevision } from "../../../canon/policy.ts";
import { ROLLBACK_REASONS } from "../../../lifecycle/records.ts";
import { readWord } from "../../explain/words.ts";
import { line, span } from "../../simulate/formats/terminal/layout.ts";
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
import { EXPECT_FLAGS, EXPECT_HELP, readExpected, readRevision, refuseUnexpected } from "./expected.ts";
import { NotNowError } from "./server/refusal.ts";
import type { PolicyView, SlotView } from "./server/view.ts";
import { commandText, contentText } from "./words/contents.ts";
import { outcomeLines } from "./words/outcome.ts";

const HELP = `Usage: signalbox policy rollback ID [options]

Makes act again what was enforced before, for all servers of the store at once, without compiling anything and without any
approval. What is rolled back is held: it cannot be promoted again before somebody releases it.

  --to R                A revision that was enforced before, such as r3; none: nothing, as before the first promotion
                        of a policy that began in shadow. Default: what was enforced last.
  --reason R            ${ROLLBACK_REASONS.join(", ")}.
                        Default: other. It stands in the history.
${EXPECT_HELP}${COMMON_HELP}
${CHANGING_KEY}
${CHANGING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, ...EXPECT_FLAGS, to: { type: "string" }, reason: { type: "string" } } as const;

/** `signalbox policy rollback`; gives the exit code. */
export function rollBackPolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, FLAGS);
  return runLifecycle("rollback", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const expected = readExpected(values);
    const to = readRevision("--to", values.to);
    const reason = values.reason === undefined ? null : readWord("--reason", values.reason, ROLLBACK_REASONS);
    const { view } = await server.policy(id);
    refuseUnexpected(view, expected);
    const { enforced, candidate, etag } = view;
    if (enforced === null || (to === undefined && !view.canRollBack)) {
      throw new NotNowError(`there is nothing to roll back to: ${whyNowhere(view)}`);
    }
    if (values.json !== true) printLines([line(0, span(planText(view, enforced, to)))], io);
    const body = {
      expected: {
        candidate_revision: formatRevision(candidate?.revision ?? 0),
        enforced_revision: formatRevision(enforced.revision),
      },
      ...(to === undefined ? {} : { to_revision: formatRevision(to ?? 0) }),
      ...(reason === null ? {} : { reason }),
    };
    const changed = await server.change(id, "rollbacks", body, etag);
    if (values.json === true) return printJson(changed.json, io);
    printLines(
      outcomeLines(`rolled back ${contentText(enforced)}`, changed.view, undoText(changed.view, enforced, server.flag)),
      io,
    );
  });
}

function whyNowhere({ id, enforced }: PolicyView): string {
  if (enforced === null) return `nothing is enforced; what was stands in: signalbox policy history ${id}`;
  return `nothing was enforced before ${contentText(enforced)}; change the policy's file, or delete it, and promote the candidate that follows`;
}

function planText({ id, rollbackTo }: PolicyView, enforced: SlotView, to: number | null | undefined): string {
  const last = rollbackTo === null ? "nothing" : contentText(rollbackTo);
  const target = to === undefined ? last : to === null ? "nothing" : `r${to}`;
  return `${id}: rolling back ${contentText(enforced)} → ${target}`;
}

/** What was rolled back can be promoted again where it stands in the candidate's slot. */
function undoText({ id, candidate }: PolicyView, { digest }: SlotView, server: string | null): string | null {
  if (candidate?.digest !== digest) return null;
  const release = commandText(["policy", "release", id, "--digest", digest.slice(0, 12)], server);
  return `${release} && ${commandText(["policy", "promote", id], server)}`;
}
