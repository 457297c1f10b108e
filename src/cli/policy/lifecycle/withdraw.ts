import { formatRevision } from "../../../canon/policy.ts";
import { line, span } from "../../simulate/formats/terminal/layout.ts";
import { readArguments } from "../../terminal/arguments.ts";
import { UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { approvedContent } from "./approve.ts";
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
import { commandText, contentText } from "./words/contents.ts";
import { outcomeLines } from "./words/outcome.ts";

const HELP = `Usage: signalbox policy withdraw ID [options]

Takes back the approval that the key in SIGNALBOX_KEY, or one it comes from, has given. With --candidate, takes the candidate out
of its slot: it is not watched any more, and a restart with it in the files does not bring it back.

  --candidate           The candidate instead of an approval.
  --digest D            The approved content, by six or more digits of its digest. Default: the candidate.
${EXPECT_HELP}${COMMON_HELP}
${CHANGING_KEY}
${CHANGING_CODES}`;

const FLAGS = {
  ...COMMON_FLAGS,
  ...EXPECT_FLAGS,
  candidate: { type: "boolean" },
  digest: { type: "string" },
} as const;

/** `signalbox policy withdraw`; gives the exit code. */
export function withdrawPolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, FLAGS);
  return runLifecycle("withdraw", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const expected = readExpected(values);
    if (values.candidate === true && values.digest !== undefined) {
      throw new UsageError("--candidate, --digest: give one of them; the candidate is whatever stands in the slot");
    }
    const { view } = await server.policy(id);
    refuseUnexpected(view, expected);
    const isCandidate = values.candidate === true;
    if (isCandidate && view.candidate === null) throw new NotNowError("there is no candidate to withdraw");
    const content = await approvedContent(server, view, values.digest);
    if (values.json !== true) {
      const what = isCandidate ? "the candidate" : "an approval of";
      printLines([line(0, span(`${id}: withdrawing ${what} ${contentText(content)}`))], io);
    }
    const changed = isCandidate
      ? await server.change(
          id,
          "withdrawals",
          { what: "candidate", expected: { candidate_revision: formatRevision(content.revision) } },
          view.etag,
        )
      : await server.change(id, "withdrawals", { what: "approval", digest: content.digest }, null);
    if (values.json === true) return printJson(changed.json, io);
    const digest = content.digest.slice(0, 12);
    const undo = commandText(["policy", isCandidate ? "release" : "approve", id, "--digest", digest], server.flag);
    const done = isCandidate
      ? `withdrew the candidate ${contentText(content)}`
      : `withdrew the approval of ${contentText(content)}`;
    printLines(outcomeLines(done, changed.view, undo), io);
  });
}
