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
import type { PolicyServer } from "./server/client.ts";
import { NotNowError } from "./server/refusal.ts";
import type { Content, PolicyView } from "./server/view.ts";
import { commandText, contentText } from "./words/contents.ts";
import { outcomeLines } from "./words/outcome.ts";

const HELP = `Usage: signalbox policy release ID [options]

Lets content be promoted again that was rolled back or withdrawn. Where there is no candidate, it becomes the candidate. Nothing
acts that did not act before: it still has to be promoted.

  --digest D            Six or more digits of its digest. Default: the one content that is held, or else withdrawn.
${EXPECT_HELP}${COMMON_HELP}
${CHANGING_KEY}
${CHANGING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, ...EXPECT_FLAGS, digest: { type: "string" } } as const;

/** `signalbox policy release`; gives the exit code. */
export function releasePolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, FLAGS);
  return runLifecycle("release", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const expected = readExpected(values);
    const { view } = await server.policy(id);
    refuseUnexpected(view, expected);
    const content = await releasedContent(server, view, values.digest);
    if (values.json !== true) printLines([line(0, span(`${id}: releasing ${contentText(content)}`))], io);
    const changed = await server.change(id, "releases", { digest: content.digest }, view.etag);
    if (values.json === true) return printJson(changed.json, io);
    // A hold cannot be put back; a candidate that came with it can be taken out.
    const isNew = changed.view.candidate?.digest === content.digest && view.candidate?.digest !== content.digest;
    const undo = isNew ? commandText(["policy", "withdraw", id, "--candidate"], server.flag) : null;
    printLines(outcomeLines(`released ${contentText(content)}`, changed.view, undo), io);
  });
}

async function releasedContent(server: PolicyServer, view: PolicyView, digest: string | undefined): Promise<Content> {
  if (digest !== undefined) return approvedContent(server, view, digest);
  const contents = view.held.length > 0 ? view.held : view.withdrawn;
  const [only, ...others] = contents;
  if (only === undefined)
    throw new NotNowError("nothing is held and nothing is withdrawn, so there is nothing to release");
  if (others.length > 0) {
    const names = contents.map(contentText).join(", ");
    throw new UsageError(`--digest: there is more than one content to release; give it for one of ${names}`);
  }
  return only;
}
