import { basename, dirname } from "node:path/posix";
import type { Source } from "../../canon/diagnostic.ts";
import type { ChangedEntry, SideLocation } from "../report/report.ts";
import type { CompiledSide, CompiledSides, SideContent } from "../side-contents.ts";
import type { OfSides } from "../sample-request.ts";

/** The sources of both sides, with the libraries. */
type SideSources = OfSides<readonly Source[]>;

/** Policies whose text differs, that came or went, in the order of their ids. */
export function policyEntries(
  { base, head }: CompiledSides,
  sources: SideSources,
): readonly ChangedEntry[] {
  const [before, after] = [filesOf(base), filesOf(head)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .toSorted()
    .flatMap((id): readonly ChangedEntry[] => {
      const [was, is] = [before.get(id), after.get(id)];
      if (was !== undefined && is !== undefined && was.digest === is.digest) return [];
      const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
      const lines = change === "changed" ? changedLines(id, sources) : null;
      return [
        {
          path: `policies/${id}`,
          kind: "policy",
          subject: id,
          change,
          ...(was !== undefined && is !== undefined && isSameRules(was, is, sources)
            ? { only: "text" as const }
            : { title: (is ?? was)?.contract.title ?? id }),
          before: lines?.before ?? null,
          after: lines?.after ?? null,
          location: lines?.location ?? fileStart(id, sources),
        },
      ];
    });
}

/**
 * Each policy of a side's own files: content that head keeps from base, and removals, are not of
 * its files.
 */
function filesOf({ contents }: CompiledSide): ReadonlyMap<string, SideContent> {
  const own = contents.filter(({ isKept, rules }) => !isKept && rules !== null);
  return new Map(own.map((content) => [content.contract.id, content]));
}

function sourceOf(sources: readonly Source[], id: string) {
  return sources.find((source) => basename(source.path) === `${id}.rego` && !isLibrary(source));
}

function isLibrary({ path }: Source) {
  return basename(dirname(path)) === "lib";
}

function fileStart(id: string, sources: SideSources): SideLocation | null {
  for (const side of ["head", "base"] as const) {
    const own = sourceOf(sources[side], id);
    if (own !== undefined) return { file: own.path, line: 1, column: 1, side };
  }
  return null;
}

interface ChangedLines {
  readonly before: string | null;
  readonly after: string | null;
  readonly location: SideLocation;
}

/**
 * The first line that differs in the policy's file, or in a library where its own file is the same.
 * Comments count only where nothing else differs.
 */
function changedLines(id: string, { base, head }: SideSources): ChangedLines | null {
  const own = sourceOf(head, id);
  const libraries = head.filter(isLibrary);
  for (const source of own === undefined ? libraries : [own, ...libraries]) {
    const before = base.find(
      ({ path }) => basename(path) === basename(source.path) && sameFolder(path, source.path),
    );
    if (before === undefined || before.text === source.text) continue;
    return firstDifference(before.text, source);
  }
  return null;
}

/** Whether two contents differ in titles, comments, spacing and the order of rules at most. */
function isSameRules(was: SideContent, is: SideContent, { base, head }: SideSources): boolean {
  const [before, after] = [was, is].map(({ contract }) =>
    JSON.stringify({ ...contract, title: "" }),
  );
  const id = is.contract.id;
  return (
    before === after &&
    head.every((source) => {
      const isRead = source === sourceOf(head, id) || isLibrary(source);
      const other = base.find(({ path }) => path === source.path);
      return !isRead || (other !== undefined && rulesOf(other.text) === rulesOf(source.text));
    })
  );
}

/** The rules of a module in alphabetical order, without comments, indentation and empty lines. */
function rulesOf(text: string): string {
  // A string of several lines keeps its spacing.
  if (text.includes("`")) return text;
  const bare = text.replaceAll(/("(?:\\.|[^"\\\n])*")|#.*$/gm, "$1");
  const rules = bare.split(/(?:\r\n?|\n)(?=[^\s})\]])(?!else\b)/);
  const trimmed = rules.map((rule) => rule.replaceAll(/\s*[\r\n]\s*/g, "\n").trim());
  return trimmed.toSorted().join("\n").trim();
}

function sameFolder(left: string, right: string) {
  return basename(dirname(left)) === basename(dirname(right));
}

/**
 * Where exactly one line was replaced by one, both are quoted: such a change is read without
 * opening the file.
 */
function firstDifference(text: string, { path, text: now }: Source): ChangedLines {
  const [was, is] = [text.split(/\r\n?|\n/), now.split(/\r\n?|\n/)];
  const first = is.findIndex((line, index) => line !== was[index]);
  const start = first === -1 ? is.length - 1 : first;
  let tail = 0;
  while (tail < Math.min(was.length, is.length) - start && was.at(-1 - tail) === is.at(-1 - tail))
    tail += 1;
  const [removed, added] = [was.slice(start, was.length - tail), is.slice(start, is.length - tail)];
  const quoted = removed.length <= 1 && added.length <= 1;
  return {
    before: quoted ? (removed[0]?.trim() ?? null) : null,
    after: quoted ? (added[0]?.trim() ?? null) : null,
    location: { file: path, line: start + 1, column: 1, side: "head" },
  };
}
