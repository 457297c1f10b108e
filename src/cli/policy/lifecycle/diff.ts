import { type JsonObject, canonicalJson } from "../../../canon/json.ts";
import { POLICY_CONTENT } from "../../../http/contract/policy-answers.ts";
import {
  objectOf,
  objectsOf,
  readAnswer,
  textOf,
  type Answer,
} from "../../terminal/call-server.ts";
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
import { lifecycleCommand, valueFlag } from "./command.ts";
import { contentText, parseContent, type PolicyServer, type PolicyView } from "./policy-server.ts";
import { formatPatch, structuredPatch } from "diff";

/** A content as it is compared. */
interface Side extends SourceSide {
  readonly json: JsonObject | null;
  /** `null`: there are no rules. */
  readonly contract: JsonObject | null;
}

const CONTRACT = POLICY_CONTENT.properties.contract;
type Contract = NonNullable<Answer<typeof CONTRACT>>;
type Constraint = Contract["constraints"][number];
type Obligation = Contract["obligations"][number];

export const diffPolicy = lifecycleCommand({
  name: "diff",
  summary: "What the candidate changes: its contract, and its rules line by line.",
  access: "reads",
  about: `Shows what the candidate of a policy changes: its contract, and its rules line by line. The contents come from the server's
store, not from the files of this checkout.`,
  flags: {
    from: valueFlag(
      "CONTENT",
      "enforced (the default), candidate, a revision such as r4, or six or more digits of a digest.",
    ),
    to: valueFlag("CONTENT", "The same; default: candidate."),
  },
  json: '{"from": …, "to": …, "contract": [{"mark", "text"}], "patch": "a unified diff"}.',
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

/** A change of a contract: `+` added, `-` removed, `~` changed. */
interface ContractChange {
  readonly mark: "+" | "-" | "~";
  readonly text: string;
}

/**
 * Differences of two contracts. `null`: the side has no rules, before the first content or after a
 * removal.
 */
export function contractChanges(
  from: JsonObject | null,
  to: JsonObject | null,
): readonly ContractChange[] {
  const [before, after] = [readAnswer(CONTRACT, from), readAnswer(CONTRACT, to)];
  const { constraints, obligations } = CONTRACT.properties;
  const isRetitled = before !== null && after !== null && before.title !== after.title;
  return [
    ...listChanges("constraint", from, to, (one, other) => {
      const constraint = readAnswer(constraints.items, one);
      return other === undefined
        ? constraintText(constraint)
        : constraintChanges(constraint, readAnswer(constraints.items, other));
    }),
    ...listChanges("obligation", from, to, (one, other) => {
      const obligation = readAnswer(obligations.items, one);
      if (other === undefined) return obligationText(obligation);
      const { kind, value } = readAnswer(obligations.items, other);
      return `${obligation.kind} ${obligation.value} → ${kind} ${value}`;
    }),
    ...valueListChanges("operation", before?.operations, after?.operations),
    ...(isRetitled
      ? [{ mark: "~", text: `title: ${before.title} → ${after.title}` } satisfies ContractChange]
      : []),
    ...valueListChanges("owner", before?.owners, after?.owners),
  ];
}

/**
 * Changes of named items, by all of their members: a newer server may have others.
 *
 * @param describe one item, or the difference of two of one name.
 */
function listChanges(
  kind: "constraint" | "obligation",
  from: JsonObject | null,
  to: JsonObject | null,
  describe: (one: JsonObject, other?: JsonObject) => string,
): readonly ContractChange[] {
  const [before, after] = [from, to].map(
    (contract) =>
      new Map(objectsOf(contract, `${kind}s`).map((item) => [textOf(item, "name"), item])),
  );
  const names = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted();
  return names.flatMap((name): readonly ContractChange[] => {
    const [old, young] = [before?.get(name), after?.get(name)];
    if (old === undefined)
      return young === undefined ? [] : [{ mark: "+", text: `${kind} ${describe(young)}` }];
    if (young === undefined) return [{ mark: "-", text: `${kind} ${describe(old)}` }];
    if (canonicalJson(old) === canonicalJson(young)) return [];
    return [{ mark: "~", text: `${kind} ${name}: ${describe(old, young) || "changed"}` }];
  });
}

export function constraintText({ name, effect, reasons }: Constraint): string {
  return `${name} (${effect.replaceAll("_", " ")}): ${reasons.join(", ")}`;
}

function constraintChanges(before: Constraint, after: Constraint): string {
  const [old, young] = [before.reasons, after.reasons];
  const gained = young.filter((value) => !old.includes(value));
  const lost = old.filter((value) => !young.includes(value));
  // A constraint that fails without a reason gets the first of the list.
  const isReordered = gained.length === 0 && lost.length === 0 && old.join() !== young.join();
  const effects = [before, after].map(({ effect }) => effect.replaceAll("_", " "));
  return [
    ...(effects[0] === effects[1] ? [] : [`effect ${effects.join(" → ")}`]),
    ...gained.map((value) => `new reason ${value}`),
    ...lost.map((value) => `no reason ${value} any more`),
    ...(isReordered ? [`reasons in another order: ${young.join(", ")}`] : []),
  ].join("; ");
}

export function obligationText({ name, kind, value }: Obligation): string {
  return `${name}: ${kind} ${value}`;
}

function valueListChanges(
  kind: string,
  before: readonly string[] = [],
  after: readonly string[] = [],
): readonly ContractChange[] {
  const changes = (mark: "+" | "-", values: readonly string[], others: readonly string[]) =>
    values
      .filter((value) => !others.includes(value))
      .map((value) => ({ mark, text: `${kind} ${value}` }));
  return [...changes("+", after, before), ...changes("-", before, after)];
}
