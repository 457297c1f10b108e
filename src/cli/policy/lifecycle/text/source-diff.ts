import { formatPatch, structuredPatch, type StructuredPatch } from "diff";
import { line, span, type Line, type Style } from "../../../terminal/layout.ts";

/** A module of a policy: what it is called in Rego, and its text. */
export interface SourceModule {
  readonly package: string;
  readonly source: string;
}

/** One side of a comparison. */
export interface SourceSide {
  /** `r4 (9f2c1a7b)`, for the heads of the diff. */
  readonly name: string;
  /** Empty for nothing, and for a policy's end: then every line is new, or gone. */
  readonly modules: readonly SourceModule[];
}

/** How long lines may be compared, milliseconds: texts of thousands of lines without one in common take long. */
const LONGEST = 2_000;

/** What differs of one module; `null`: too much to compare line by line. */
export interface ModuleDiff {
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
    const patch = structuredPatch(oldName, youngName, old ?? "", young ?? "", undefined, undefined, options);
    return [{ package: name, patch: patch ?? null }];
  });
}

/** A unified diff as text, for programs. */
export function patchText(diffs: readonly ModuleDiff[]): string {
  return diffs.map(({ patch }) => (patch === null ? "" : formatPatch(patch))).join("");
}

/** The same for a terminal. */
export function diffLines(diffs: readonly ModuleDiff[]): readonly Line[] {
  return diffs.flatMap(({ package: name, patch }) => {
    if (patch === null) return [line(0, span(`${name}: too much differs to be shown line by line`, "yellow"))];
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
  // A tab is one column of a terminal's line otherwise, and white space at the end is cut off: it may be the only change.
  const shown = rest.replaceAll("\t", "    ").replace(/ +$/, (spaces) => "·".repeat(spaces.length));
  if (mark === "+") return whole(`+${shown}`, "green");
  return mark === "-" ? whole(`-${shown}`, "red") : whole(`${mark}${shown}`);
}

function whole(text: string, ...styles: readonly Style[]): Line {
  return { ...line(0, span(text, ...styles)), whole: true };
}
