import type { Diagnostic, Source } from "../../canon/diagnostic.ts";
import { parseAssertions } from "../../simulate/assertions/file/parse.ts";
import { renamesOf } from "../../simulate/renames/renames.ts";
import type { ChangedEntry } from "../../simulate/report/cause-report.ts";
import type { SettingChange } from "../../simulate/report/report.ts";
import type { Side, SimulationRequest } from "../../simulate/request.ts";
import { changedAssertions } from "../../simulate/settings/changed-assertions.ts";
import { readAssertions, type SideTree } from "./sides.ts";
import type { OfSides } from "../../simulate/sample-request.ts";

/** What head is held against. */
interface HeldAssertions {
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
  trees: OfSides<SideTree>,
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
  const changes = changedAssertions(
    // Base's own file may have errors; that it differs is known.
    before === null ? null : { source: before, assertions: parseAssertions(before, sidesOf(base, base)).assertions },
    own === null ? null : { source: own, assertions },
    renamesOf(base.table, head.table),
  );
  // What follows a renamed row is part of the rename; another name for an assertion is not.
  const shown = changes.filter(({ effect, path }) => effect !== "renamed" || path.endsWith(".id"));
  return {
    assertions: { file: source.path, assertions, changes, entries: shown.map(entryOf) },
    diagnostics,
    source,
    failed: false,
  };
}

/** Names in the file may be of either side: an assertion may keep out what base had. */
function sidesOf(base: Side, head: Side) {
  const side = ({ table, policies }: Side) => ({ table, contracts: policies.policies.map(({ contract }) => contract) });
  return { base: side(base), head: side(head) };
}

function entryOf({ path, before, after, where }: SettingChange): ChangedEntry {
  const subject = path.split(".")[1] ?? path;
  const change = before === null ? "added" : after === null ? "removed" : "changed";
  return { path, kind: "assertion", subject, change, before, after, place: where };
}
