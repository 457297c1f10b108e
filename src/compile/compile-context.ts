import type { DialectFacts } from "../dialects/dialect-facts.ts";
import type { Declared } from "./authored/declared.ts";
import { quote } from "./authored/literal-secrets.ts";
import type { Path } from "./authored/tree.ts";
import { suggest } from "./findings/suggest.ts";
import type { RoutesFile } from "./routes-schema.ts";
import type { Report } from "./findings/findings.ts";
import type { NormalisedRoutes } from "./normalised/normalise.ts";

/** What every check may look at. */
export interface CompileContext {
  /** Paths of findings are paths of this file. */
  readonly file: RoutesFile;
  readonly normalised: NormalisedRoutes;
  readonly declared: Declared;
  /** Ids of the policies beside the file; `null` where not read. */
  readonly policies: readonly string[] | null;
  dialect(name: string): DialectFacts | undefined;
  readonly report: Report;
}

/** The code of a name that no row of a list has. */
const UNKNOWN = {
  models: "UNKNOWN_MODEL",
  providers: "UNKNOWN_PROVIDER",
  routes: "UNKNOWN_ROUTE",
  workspaces: "UNKNOWN_WORKSPACE",
} as const;

/**
 * Reports a name that no row of the list has.
 *
 * @param clause of the message, up to the name: "workspace `shop` approves the route".
 * @returns whether there is such a row.
 */
export function checkName(
  { declared, report }: CompileContext,
  list: keyof typeof UNKNOWN,
  name: string,
  path: Path,
  clause: string,
): boolean {
  if (declared[list].has(name)) return true;
  report.value(
    UNKNOWN[list],
    path,
    `${clause} ${quote(name)}, which does not exist`,
    suggest(name, declared[list]),
  );
  return false;
}

/** Reports a label that the vocabulary does not have. @param clause as for {@link checkName}. */
export function checkLabel(
  { declared, report }: CompileContext,
  label: string,
  path: Path,
  clause: string,
): void {
  if (declared.labels.has(label)) return;
  const message = `${clause} ${quote(label)}, which \`vocabulary.labels\` does not list`;
  const hint = suggest(label, declared.labels) || "add it: `vocabulary: {labels: […]}`";
  report.value("UNKNOWN_LABEL", path, message, hint);
}
