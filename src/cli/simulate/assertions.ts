import type { Diagnostic, Source } from "../../canon/diagnostic.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { Assertions } from "../../simulate/assertions/assertion.ts";
import { parseAssertions } from "../../simulate/assertions/file/parse.ts";
import type { SideLocation } from "../../simulate/report/location.ts";
import type { ChangedEntry } from "../../simulate/report/cause-report.ts";
import type { Side, SimulationRequest } from "../../simulate/request.ts";
import { readAssertions, type SideTree } from "./sides.ts";

/** What head is held against. */
export interface HeldAssertions {
  readonly assertions: SimulationRequest["assertions"];
  /** Of the file that is held; with errors nothing is compared. */
  readonly diagnostics: readonly Diagnostic[];
  readonly source: Source | null;
  readonly failed: boolean;
}

/**
 * Head's assertions; base's where head has none any more, so that a change cannot remove the assertion that would fail it. What head
 * has changed of them is listed.
 *
 * @param requested `--assertions`.
 * @throws {CommandError} where a file cannot be read.
 */
export async function heldAssertions(
  trees: { readonly base: SideTree; readonly head: SideTree },
  base: Side,
  head: Side,
  requested: string | null,
): Promise<HeldAssertions> {
  const own = await readAssertions(trees.head, head.files, requested);
  const before = await readAssertions(trees.base, base.files, requested, "may be absent");
  const source = own ?? before;
  if (source === null) return { assertions: null, diagnostics: [], source, failed: false };
  const { assertions, diagnostics } = parseAssertions(source, sidesOf(base, head));
  if (assertions === null) return { assertions: null, diagnostics, source, failed: true };
  const old = before === null ? null : parseAssertions(before, sidesOf(base, base)).assertions;
  const changes = changesOf(own, before, assertions, old);
  const entries = assertionEntries(changes, { own, before }, { now: assertions, old });
  return { assertions: { file: source.path, assertions, changes, entries }, diagnostics, source, failed: false };
}

/** Names in the file may be of either side: an assertion may keep out what base had. */
function sidesOf(base: Side, head: Side) {
  const side = ({ table, policies }: Side) => ({ table, contracts: policies.policies.map(({ contract }) => contract) });
  return { base: side(base), head: side(head) };
}

function changesOf(
  own: Source | null,
  before: Source | null,
  now: Assertions,
  old: Assertions | null,
): readonly string[] {
  if (own === null) return [`- ${before?.path ?? ""} (base's is held)`];
  if (before === null) return [`+ ${own.path}`];
  if (before.text === own.text) return [];
  // Base's own file cannot be read; that it differs is known.
  if (old === null) return [own.path];
  const [was, is] = [rowsOf(old), rowsOf(now)];
  return [...new Set([...was.keys(), ...is.keys()])].toSorted().flatMap((name) => {
    if (!is.has(name)) return [`- ${name}`];
    if (!was.has(name)) return [`+ ${name}`];
    return was.get(name) === is.get(name) ? [] : [name];
  });
}

/** The changes with their lines: of what is gone the line in base's file. */
function assertionEntries(
  changes: readonly string[],
  { own, before }: { readonly own: Source | null; readonly before: Source | null },
  { now, old }: { readonly now: Assertions; readonly old: Assertions | null },
): readonly ChangedEntry[] {
  return changes.map((text): ChangedEntry => {
    const [, mark, path = text] = /^([+-]) (\S+)/.exec(text) ?? [];
    const id = path.replace(/^assertions\./, "");
    const placeOf = (of: Assertions | null, side: "base" | "head"): SideLocation | null => {
      const file = (side === "head" ? own : before)?.path;
      if (file === undefined || of === null) return null;
      const found = of.assertions.find((each) => each.id === id)?.location ?? of.coverage.gates[0]?.location;
      return { file, line: found?.line ?? 1, column: found?.column ?? 1, side };
    };
    const change = mark === "+" ? "added" : mark === "-" ? "removed" : "changed";
    const place = (change === "removed" ? null : placeOf(now, "head")) ?? placeOf(old, "base");
    return { path, kind: "assertion", subject: id, change, before: null, after: null, place };
  });
}

/** Each assertion and the gates as text, without their locations. */
function rowsOf({ assertions, coverage }: Assertions): ReadonlyMap<string, string> {
  const text = (value: object): string => canonicalJson({ ...value, location: undefined });
  return new Map([
    ...assertions.map((assertion) => [`assertions.${assertion.id}`, text(assertion)] as const),
    ["coverage", canonicalJson([coverage.gates.map(text), coverage.except])] as const,
  ]);
}
