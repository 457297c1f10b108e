import type { DialectFacts } from "../dialects/dialect-facts.ts";
import type { Declared } from "./authored/declared.ts";
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
