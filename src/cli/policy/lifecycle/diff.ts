import type { JsonObject } from "../../../canon/json.ts";
import type { POLICY_CONTENT } from "../../../http/contract/policy-answers.ts";
import { objectOf, objectsOf, stringsOf, textOf, type Answer } from "../../terminal/call-server.ts";
import {
  printLines,
  jsonText,
  line,
  section,
  span,
  wholeLine,
  type Line,
  type Style,
} from "../../terminal/printing.ts";
import { CommandError, UsageError } from "../../terminal/command-io.ts";
import { READS_CODES, READS_HELP, lifecycleCommand } from "./command.ts";
import { textFlags } from "../../terminal/command-line.ts";
import { contentText, parseContent, type PolicyServer, type PolicyView } from "./policy-server.ts";
import { formatPatch, structuredPatch } from "diff";

/** One of two compared contents. */
interface Side extends SourceSide {
  readonly json: JsonObject | null;
  /** `null`: there are no rules. */
  readonly contract: JsonObject | null;
}

export const diffPolicy = lifecycleCommand({
  name: "diff",
  summary: "What the candidate changes: its contract, and its rules line by line.",
  help: `Usage: signalbox policy diff ID [options]

Shows what the candidate of a policy changes: its contract, and its rules line by line. The contents come from the server's
store, not from the files of this checkout.

  --from CONTENT        enforced (the default), candidate, a revision such as r4, or six or more digits of a digest.
  --to CONTENT          The same; default: candidate.
${READS_HELP}With --format json: {"from": …, "to": …, "contract": [{"mark", "text"}], "patch": "a unified diff"}.
${READS_CODES}`,
  flags: textFlags("from", "to"),
  work: async ({ id, values, json, server, io }) => {
    const [from, to] = [values.from ?? "enforced", values.to ?? "candidate"];
    checkName("--from", from);
    checkName("--to", to);
    const { view } = await server.policy(id);
    const before = await readSide(server, view, from);
    const after = await readSide(server, view, to);
    if (after.json === null)
      throw new CommandError(
        `--to: the policy has no ${to} content; name another one of: signalbox policy history ${id}`,
      );
    const contract = contractChanges(before.contract, after.contract);
    const sources = sourceDiff(before, after);
    if (json) {
      const patch = patchText(sources);
      return io.stdout(jsonText({ from: before.json, to: after.json, contract, patch }));
    }
    const changes = contract.map(({ mark, text }) => line(2, markedSpan(`${mark} ${text}`)));
    const unchanged = [line(2, span("the contract is unchanged", "dim"))];
    printLines(
      [
        line(0, span(id, "bold"), `: ${before.name} → ${after.name}`),
        ...section("Contract", changes.length === 0 ? unchanged : changes),
        ...section("Rules", diffLines(sources)),
      ],
      io,
    );
  },
});

/** @throws {UsageError} */
function checkName(flag: string, name: string) {
  if (/^(?:enforced|candidate|r[1-9]\d{0,8}|[0-9a-f]{6,64})$/.test(name)) return;
  throw new UsageError(
    `${flag}: must be enforced, candidate, a revision such as r4, or six or more digits of a digest`,
  );
}

/** The content that a checked name means; no rules for an empty slot. */
async function readSide(server: PolicyServer, view: PolicyView, name: string): Promise<Side> {
  const digest = name === "enforced" || name === "candidate" ? view[name]?.digest : name;
  if (digest === undefined) return { name: "nothing", modules: [], json: null, contract: null };
  const query = digest.startsWith("r") ? { revision: digest } : { digest };
  const json = await server.below(view.id, "content", query);
  const content = parseContent(json);
  const isRemoval = content.content === "removal";
  return {
    name: `${contentText(content)}${isRemoval ? ", the policy's removal" : ""}`,
    modules: isRemoval ? [] : objectsOf(json, "sources").flatMap(parseModule),
    json,
    contract: isRemoval ? null : objectOf(json, "contract"),
  };
}

/** Keeps the source unchanged, unlike {@link readAnswer}: lines are made printable when printed. */
function parseModule({ package: name, source }: JsonObject): readonly SourceModule[] {
  return typeof name === "string" && typeof source === "string" ? [{ package: name, source }] : [];
}

const STYLES: Readonly<Record<string, Style>> = {
  "+": "green",
  "-": "red",
  "~": "yellow",
  "@": "cyan",
};

/** A module of a policy: its package and its Rego. */
type SourceModule = Pick<Answer<typeof POLICY_CONTENT>["sources"][number], "package" | "source">;

/** One side of a comparison. */
interface SourceSide {
  /** `r4 (9f2c1a7b)`, for the heads of the diff. */
  readonly name: string;
  /** Empty before the first content and after a removal: all lines are added or removed. */
  readonly modules: readonly SourceModule[];
}

/**
 * Timeout of a comparison, milliseconds: thousands of lines without one in common take long.
 */
const LONGEST = 2_000;

/** Differences by package; `patch` is `null` for modules that are too large to compare. */
export function sourceDiff(from: SourceSide, to: SourceSide) {
  const sourcesOf = ({ modules }: SourceSide) =>
    new Map(modules.map((module) => [module.package, module.source]));
  const [before, after] = [sourcesOf(from), sourcesOf(to)];
  return [...new Map([...before, ...after]).keys()].toSorted().flatMap((name) => {
    const [old, young] = [before.get(name), after.get(name)];
    if (old === young) return [];
    const oldName = old === undefined ? "/dev/null" : `${name} ${from.name}`;
    const youngName = young === undefined ? "/dev/null" : `${name} ${to.name}`;
    const options = { context: 3, timeout: LONGEST };
    const patch = structuredPatch(
      oldName,
      youngName,
      old ?? "",
      young ?? "",
      undefined,
      undefined,
      options,
    );
    return [{ package: name, patch: patch ?? null }];
  });
}

/** A unified diff as text, for programs. */
export function patchText(diffs: ReturnType<typeof sourceDiff>): string {
  return diffs.map(({ patch }) => (patch === null ? "" : formatPatch(patch))).join("");
}

/** The same for a terminal. */
function diffLines(diffs: ReturnType<typeof sourceDiff>): readonly Line[] {
  return diffs.flatMap(({ package: name, patch }) => {
    if (patch === null)
      return [line(0, span(`${name}: too many lines differ to show them`, "yellow"))];
    // A ruler, and the names of both sides.
    const [, before = "", after = "", ...lines] = formatPatch(patch).replace(/\n$/, "").split("\n");
    const names = [before, after].map((text) => wholeLine(0, span(text, "bold")));
    return [...names, ...lines.map(sourceLine)];
  });
}

function sourceLine(text: string): Line {
  // Printing replaces tabs and trims the end of lines, where the only change may be.
  const shown = text
    .replaceAll("\t", "    ")
    .replace(/(?<=.) +$/, (spaces) => "·".repeat(spaces.length));
  return wholeLine(0, markedSpan(shown));
}

/** Styled by its first character. */
function markedSpan(text: string) {
  return span(text, ...[STYLES[text.charAt(0)] ?? []].flat());
}

/**
 * Differences of two contracts: `+` added, `-` removed, `~` changed. `null`: the side has no rules,
 * before the first content or after a removal.
 */
export function contractChanges(from: JsonObject | null, to: JsonObject | null) {
  const [before, after] = [declarationsOf(from), declarationsOf(to)];
  return [...new Map([...before, ...after]).keys()].flatMap((name) => {
    const [old, young] = [before.get(name), after.get(name)];
    if (old === young) return [];
    const mark = old === undefined ? "+" : young === undefined ? "-" : "~";
    const values = [old, young].filter(Boolean).join(" → ");
    return [{ mark, text: values === "" ? name : `${name}: ${values}` }];
  });
}

/**
 * Declarations of a contract by name, with all of their members: a newer server may have others. A
 * constraint that fails without a reason gets its first one, so their order counts.
 */
function declarationsOf(contract: JsonObject | null): ReadonlyMap<string, string> {
  if (contract === null) return new Map();
  const constraints = objectsOf(contract, "constraints");
  const items = (kind: string, all: readonly JsonObject[]) =>
    all.map((item) => {
      const facts = Object.keys(item).filter((member) => member !== "name" && member !== "reasons");
      const text = facts.map((fact) => textOf(item, fact)).join(" ");
      return [`${kind} ${textOf(item, "name")}`, text] as const;
    });
  const names = (kind: string) =>
    stringsOf(contract, `${kind}s`).map((name) => [`${kind} ${name}`, ""] as const);
  return new Map([
    ...items("constraint", constraints),
    ...constraints.flatMap((one) =>
      stringsOf(one, "reasons").map(
        (reason, index) =>
          [`reason ${reason} of ${textOf(one, "name")}`, `no. ${index + 1}`] as const,
      ),
    ),
    ...items("obligation", objectsOf(contract, "obligations")),
    ...names("operation"),
    ["title", textOf(contract, "title")],
    ...names("owner"),
  ]);
}
