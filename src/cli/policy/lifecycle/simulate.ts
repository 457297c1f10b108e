import { checkOutputs, writeOutputs } from "../../simulate/outputs.ts";
import { readOutputs } from "../../simulate/options.ts";
import { readArguments } from "../../terminal/arguments.ts";
import type { CommandIo } from "../../terminal/command-io.ts";
import { approvedContent } from "./approve.ts";
import {
  CHANGING_CODES,
  CHANGING_KEY,
  COMMON_FLAGS,
  COMMON_HELP,
  policyId,
  printJson,
  runLifecycle,
} from "./command.ts";
import { notReadable, readableReport } from "./reports/server-report.ts";

const HELP = `Usage: signalbox policy simulate ID [options]

Shows the server's own simulation of one promotion: what would change for every class of requests, under the table that serves,
if the content took the place of what is enforced, and the results of the server's assertions. An approval that names this
report (signalbox policy approve --report) satisfies a promotion that requires one.

  --digest D            Six or more digits of the digest of a content. Default: whatever is the candidate now.
  --format FORMAT       As for signalbox simulate; repeat it for several, each also as FORMAT=FILE. json=FILE gives the file
                        for --report.
${COMMON_HELP}
${CHANGING_KEY}
${CHANGING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, digest: { type: "string" }, format: { type: "string", multiple: true } } as const;

/** `signalbox policy simulate`; gives the exit code. */
export function simulatePromotion(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, FLAGS);
  return runLifecycle("simulate", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const outputs = readOutputs(values.format ?? [], io.cwd);
    await checkOutputs(outputs, io);
    const { view } = await server.policy(id);
    const content = await approvedContent(server, view, values.digest);
    const made = await server.simulation(id, content.digest);
    if (values.json === true) return printJson(made.json, io);
    const report = readableReport(made);
    try {
      await writeOutputs(report, outputs, io);
    } catch (error) {
      // The formats look at members that a report of another version may lack.
      throw error instanceof TypeError ? notReadable() : error;
    }
  });
}
