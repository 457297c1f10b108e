import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { objectOf, objectsOf } from "../../explain/members.ts";
import { line, span, type Line, type Style } from "../../simulate/formats/terminal/layout.ts";
import { readArguments } from "../../terminal/arguments.ts";
import { CommandError, type CommandIo } from "../../terminal/command-io.ts";
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
import { findContent } from "./server/find-content.ts";
import { notPolicies, type Content, type PolicyView } from "./server/view.ts";
import { contentText } from "./words/contents.ts";
import { contractChanges, type ContractChange } from "./words/contract-changes.ts";
import { section } from "./words/sections.ts";
import { diffLines, patchText, sourceDiff, type SourceModule, type SourceSide } from "./words/source-diff.ts";

const HELP = `Usage: signalbox policy diff ID [options]

Shows what the candidate of a policy changes: what it promises, in words, and its rules line by line. The contents are those of
the server's store, whatever anybody's files hold.

  --from CONTENT        enforced (the default), candidate, a revision such as r4, or six or more digits of a digest.
  --to CONTENT          The same; default: candidate.
${COMMON_HELP}
${READING_KEY}
With --json: {"from": …, "to": …, "contract": [{"mark", "text"}], "patch": "a unified diff"}.
${READING_CODES}`;

const FLAGS = { ...COMMON_FLAGS, from: { type: "string" }, to: { type: "string" } } as const;

/** A content as it is compared. */
interface Side extends SourceSide {
  readonly json: JsonObject | null;
  /** `null`: there are no rules. */
  readonly contract: JsonObject | null;
}

/** `signalbox policy diff`; gives the exit code. */
export function diffPolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  return runLifecycle(
    "diff",
    HELP,
    () => readArguments(argv, FLAGS),
    io,
    async ({ values, positionals, server }) => {
      const { view } = await server.policy(policyId(positionals));
      const [fromWord, toWord] = [values.from ?? "enforced", values.to ?? "candidate"];
      const to = await findContent(server, view, "--to", toWord);
      if (to === null) throw new CommandError(emptySlot("--to", toWord, view));
      const from = await findContent(server, view, "--from", fromWord);
      const sides = { from: await readSide(server, view, from), to: await readSide(server, view, to) };
      const changes = contractChanges(sides.from.contract, sides.to.contract);
      const sources = sourceDiff(sides.from, sides.to);
      if (values.json === true) {
        const patch = patchText(sources);
        printJson({ from: sides.from.json, to: sides.to.json, contract: changes, patch }, io);
      } else
        printLines([...headLines(view, sides), ...changeLines(changes), ...section("Rules", diffLines(sources))], io);
    },
  );
}

function emptySlot(flag: string, slot: string, { id }: PolicyView): string {
  return `${flag}: the policy has no ${slot} content; name another one of: signalbox policy history ${id}`;
}

async function readSide(server: PolicyServer, { id }: PolicyView, content: Content | null): Promise<Side> {
  if (content === null) return { name: "nothing", modules: [], json: null, contract: null };
  const json = await server.below(id, "content", { digest: content.digest });
  if (json["object"] !== "policy.content") throw notPolicies();
  const isRemoval = json["content"] === "removal";
  return {
    name: `${contentText(content)}${isRemoval ? ", the policy's end" : ""}`,
    modules: isRemoval ? [] : objectsOf(json, "sources").flatMap(parseModule),
    json,
    contract: isRemoval ? null : objectOf(json, "contract"),
  };
}

/** The text as it is: only what is printed of it must be printable. */
function parseModule(module: JsonObject): readonly SourceModule[] {
  const { package: name, source } = isJsonObject(module) ? module : {};
  return typeof name === "string" && typeof source === "string" ? [{ package: name, source }] : [];
}

function headLines({ id }: PolicyView, { from, to }: { readonly from: Side; readonly to: Side }): readonly Line[] {
  return [line(0, span(id, "bold"), span(`: ${from.name} → ${to.name}`))];
}

const STYLES = { "+": "green", "-": "red", "~": "yellow" } as const satisfies Record<ContractChange["mark"], Style>;

function changeLines(changes: readonly ContractChange[]): readonly Line[] {
  const none = [line(2, span("promises the same", "dim"))];
  const lines = changes.map(({ mark, text }) => line(2, span(`${mark} ${text}`, STYLES[mark])));
  return section("Contract", lines.length === 0 ? none : lines);
}
