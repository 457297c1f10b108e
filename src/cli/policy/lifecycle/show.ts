import type { JsonObject } from "../../../canon/json.ts";
import { readArguments } from "../../terminal/arguments.ts";
import type { CommandIo } from "../../terminal/command-io.ts";
import {
  COMMON_FLAGS,
  COMMON_HELP,
  policyId,
  printJson,
  printLines,
  READING_CODES,
  READING_KEY,
  runLifecycle,
} from "./command.ts";
import type { PolicyServer } from "./server/client.ts";
import type { PolicyView } from "./server/view.ts";
import { policyLines } from "./words/policy-lines.ts";

/** Requests that are shown of those that a candidate concerns. */
const WITNESSES = 20;

const HELP = `Usage: signalbox policy show ID [options]

Shows a policy of a running server: what acts and what is watched, who has approved it and what is missing, what it would have
done to requests, with commands that explain them, and what to type next.

${COMMON_HELP}
${READING_KEY}
With --json: {"policy": …, "shadow": … or null}, as GET /v1/policies/ID and GET /v1/policies/ID/shadow answer.
${READING_CODES}`;

/** `signalbox policy show`; gives the exit code. */
export function showPolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, COMMON_FLAGS);
  return runLifecycle("show", HELP, read, io, async ({ values, positionals, server }) => {
    const { view, json } = await server.policy(policyId(positionals));
    const shadow = await shadowOf(view, server);
    if (values.json === true) printJson({ policy: json, shadow }, io);
    else printLines(policyLines(view, shadow, server.flag), io);
  });
}

/** A removal has no rules that could say anything. */
async function shadowOf({ id, candidate }: PolicyView, server: PolicyServer): Promise<JsonObject | null> {
  if (candidate === null || candidate.content === "removal") return null;
  return server.below(id, "shadow", { witnesses: String(WITNESSES) });
}
