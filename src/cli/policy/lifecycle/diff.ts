import { isJsonObject, type JsonObject, canonicalJson } from "../../../canon/json.ts";
import { objectOf, objectsOf, stringsOf, textOf } from "../../terminal/call-server.ts";
import {
  printLines,
  jsonText,
  line,
  section,
  span,
  type Line,
  type Style,
} from "../../terminal/printing.ts";
import { CommandError } from "../../terminal/command-io.ts";
import { lifecycleCommand } from "./command.ts";
import {
  contentText,
  type PolicyServer,
  findContent,
  notPolicies,
  type Content,
  type PolicyView,
} from "./policy-server.ts";
import { formatPatch, structuredPatch, type StructuredPatch } from "diff";

/** A content as it is compared. */
interface Side extends SourceSide {
  readonly json: JsonObject | null;
  /** `null`: there are no rules. */
  readonly contract: JsonObject | null;
}

export const diffPolicy = lifecycleCommand({
  name: "diff",
  summary: "What the candidate changes: its contract, and its rules line by line.",
  access: "reads",
  about: `Shows what the candidate of a policy changes: its contract, and its rules line by line. The contents come from the server's
store, not from the files of this checkout.`,
  flags: {
    from: {
      type: "string",
      value: "CONTENT",
      help: "enforced (the default), candidate, a revision such as r4, or six or more digits of a digest.",
    },
    to: { type: "string", value: "CONTENT", help: "The same; default: candidate." },
  },
  json: '{"from": …, "to": …, "contract": [{"mark", "text"}], "patch": "a unified diff"}.',
  work: async ({ id, values, json, server, io }) => {
    const { view } = await server.policy(id);
    const [fromName, toName] = [values.from ?? "enforced", values.to ?? "candidate"];
    const to = await findContent(server, view, "--to", toName);
    if (to === null) throw new CommandError(emptySlot("--to", toName, view));
    const from = await findContent(server, view, "--from", fromName);
    const sides = {
      from: await readSide(server, view, from),
      to: await readSide(server, view, to),
    };
    const contract = contractChanges(sides.from.contract, sides.to.contract);
    const sources = sourceDiff(sides.from, sides.to);
    if (json)
      io.stdout(
        jsonText({ from: sides.from.json, to: sides.to.json, contract, patch: patchText(sources) }),
      );
    else
      printLines(
        [
          ...headLines(view, sides),
          ...changeLines(contract),
          ...section("Rules", diffLines(sources)),
        ],
        io,
      );
  },
});

function emptySlot(flag: string, slot: string, { id }: PolicyView): string {
  return `${flag}: the policy has no ${slot} content; name another one of: signalbox policy history ${id}`;
}

async function readSide(
  server: PolicyServer,
  { id }: PolicyView,
  content: Content | null,
): Promise<Side> {
  if (content === null) return { name: "nothing", modules: [], json: null, contract: null };
  const json = await server.below(id, "content", { digest: content.digest });
  if (json.object !== "policy.content") throw notPolicies();
  const isRemoval = json.content === "removal";
  return {
    name: `${contentText(content)}${isRemoval ? ", the policy's removal" : ""}`,
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

function headLines(
  { id }: PolicyView,
  { from, to }: { readonly from: Side; readonly to: Side },
): readonly Line[] {
  return [line(0, span(id, "bold"), span(`: ${from.name} → ${to.name}`))];
}

const STYLES = { "+": "green", "-": "red", "~": "yellow" } as const satisfies Record<
  ContractChange["mark"],
  Style
>;

function changeLines(changes: readonly ContractChange[]): readonly Line[] {
  const none = [line(2, span("the contract is unchanged", "dim"))];
  const lines = changes.map(({ mark, text }) => line(2, span(`${mark} ${text}`, STYLES[mark])));
  return section("Contract", lines.length === 0 ? none : lines);
}

/** A module of a policy: what it is called in Rego, and its text. */
interface SourceModule {
  readonly package: string;
  readonly source: string;
}

/** One side of a comparison. */
interface SourceSide {
  /** `r4 (9f2c1a7b)`, for the heads of the diff. */
  readonly name: string;
  /** Empty for nothing, and for a policy's end: then every line is new, or gone. */
  readonly modules: readonly SourceModule[];
}

/**
 * How long lines may be compared, milliseconds: texts of thousands of lines without one in common
 * take long.
 */
const LONGEST = 2_000;

/** Differences of one module; `patch` is `null` where it is too large to compare. */
interface ModuleDiff {
  readonly package: string;
  readonly patch: StructuredPatch | null;
}

/** Modules that differ, by their packages. */
export function sourceDiff(from: SourceSide, to: SourceSide): readonly ModuleDiff[] {
  const before = new Map(from.modules.map((module) => [module.package, module.source]));
  const after = new Map(to.modules.map((module) => [module.package, module.source]));
  const packages = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return packages.flatMap((name) => {
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
export function patchText(diffs: readonly ModuleDiff[]): string {
  return diffs.map(({ patch }) => (patch === null ? "" : formatPatch(patch))).join("");
}

/** The same for a terminal. */
function diffLines(diffs: readonly ModuleDiff[]): readonly Line[] {
  return diffs.flatMap(({ package: name, patch }) => {
    if (patch === null)
      return [line(0, span(`${name}: too many lines differ to show them`, "yellow"))];
    return [
      whole(`--- ${patch.oldFileName}`, "bold"),
      whole(`+++ ${patch.newFileName}`, "bold"),
      ...patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
        whole(`@@ -${rangeText(oldStart, oldLines)} +${rangeText(newStart, newLines)} @@`, "cyan"),
        ...lines.map(sourceLine),
      ]),
    ];
  });
}

/** Where nothing stands on a side, the format names the line before it. */
function rangeText(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

function sourceLine(text: string): Line {
  const [mark, rest] = [text.slice(0, 1), text.slice(1)];
  // A tab is one column of a terminal's line otherwise, and white space at the end is cut off: it
  // may be the only change.
  const shown = rest.replaceAll("\t", "    ").replace(/ +$/, (spaces) => "·".repeat(spaces.length));
  if (mark === "+") return whole(`+${shown}`, "green");
  return mark === "-" ? whole(`-${shown}`, "red") : whole(`${mark}${shown}`);
}

function whole(text: string, ...styles: readonly Style[]): Line {
  return { ...line(0, span(text, ...styles)), whole: true };
}

/** A change of what a policy promises; `+` is new, `-` is gone, `~` is otherwise than before. */
interface ContractChange {
  readonly mark: "+" | "-" | "~";
  readonly text: string;
}

/**
 * Differences of two contracts; `null` for a side without rules: nothing before a first
 * content, or a policy's end.
 */
export function contractChanges(
  from: JsonObject | null,
  to: JsonObject | null,
): readonly ContractChange[] {
  return [
    ...listChanges("constraint", from, to, "constraints", constraintChanges, constraintText),
    ...listChanges("obligation", from, to, "obligations", obligationChanges, obligationText),
    ...valueListChanges("operation", stringsOf(from, "operations"), stringsOf(to, "operations")),
    ...(from === null || to === null
      ? []
      : valueChanges("title", textOf(from, "title"), textOf(to, "title"))),
    ...valueListChanges("owner", stringsOf(from, "owners"), stringsOf(to, "owners")),
  ];
}

function listChanges(
  what: string,
  from: JsonObject | null,
  to: JsonObject | null,
  member: string,
  changes: (before: JsonObject, after: JsonObject) => readonly string[],
  describe: (one: JsonObject) => string,
): readonly ContractChange[] {
  const before = byName(objectsOf(from, member));
  const after = byName(objectsOf(to, member));
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.flatMap((name): readonly ContractChange[] => {
    const [old, young] = [before.get(name), after.get(name)];
    if (old === undefined)
      return young === undefined ? [] : [{ mark: "+", text: `${what} ${describe(young)}` }];
    if (young === undefined) return [{ mark: "-", text: `${what} ${describe(old)}` }];
    if (canonicalJson(old) === canonicalJson(young)) return [];
    return [{ mark: "~", text: `${what} ${name}: ${changes(old, young).join("; ") || "changed"}` }];
  });
}

function byName(items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(items.map((item) => [textOf(item, "name"), item]));
}

export function constraintText(constraint: JsonObject): string {
  const reasons = stringsOf(constraint, "reasons").join(", ");
  return `${textOf(constraint, "name")} (${effectText(constraint)}): ${reasons}`;
}

function effectText(constraint: JsonObject): string {
  return textOf(constraint, "effect").replaceAll("_", " ");
}

function constraintChanges(before: JsonObject, after: JsonObject): readonly string[] {
  const effects = [effectText(before), effectText(after)];
  const [old, young] = [stringsOf(before, "reasons"), stringsOf(after, "reasons")];
  const [gained, lost] = [
    young.filter((value) => !old.includes(value)),
    old.filter((value) => !young.includes(value)),
  ];
  // The first reason speaks for a constraint that fails without one.
  const isReordered = gained.length === 0 && lost.length === 0 && old.join() !== young.join();
  return [
    ...(effects[0] === effects[1] ? [] : [`effect ${effects.join(" → ")}`]),
    ...gained.map((value) => `new reason ${value}`),
    ...lost.map((value) => `no reason ${value} any more`),
    ...(isReordered ? [`reasons in another order: ${young.join(", ")}`] : []),
  ];
}

export function obligationText(obligation: JsonObject): string {
  return `${textOf(obligation, "name")}: ${demandText(obligation)}`;
}

function demandText(obligation: JsonObject): string {
  return `${textOf(obligation, "kind")} ${textOf(obligation, "value")}`;
}

function obligationChanges(before: JsonObject, after: JsonObject): readonly string[] {
  return [`${demandText(before)} → ${demandText(after)}`];
}

function valueListChanges(
  what: string,
  before: readonly string[],
  after: readonly string[],
): readonly ContractChange[] {
  return [
    ...after
      .filter((value) => !before.includes(value))
      .map((value) => ({ mark: "+", text: `${what} ${value}` }) as const),
    ...before
      .filter((value) => !after.includes(value))
      .map((value) => ({ mark: "-", text: `${what} ${value}` }) as const),
  ];
}

function valueChanges(what: string, before: string, after: string): readonly ContractChange[] {
  return before === after ? [] : [{ mark: "~", text: `${what}: ${before} → ${after}` }];
}
