import { jsonText, printableLines } from "./printing.ts";
export type SarifLevel = "error" | "warning" | "note";

export interface SarifRule {
  readonly id: string;
  /** What a result of this rule means. */
  readonly meaning: string;
  readonly fix: string;
  readonly level: SarifLevel;
}

export interface SarifResult {
  readonly ruleId: string;
  readonly level: SarifLevel;
  readonly message: string;
  /** `null`: the result belongs to no file. */
  readonly location: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
  } | null;
  /** What stays the same while the result stays the same, by the name of the way it is made. */
  readonly fingerprints?: Readonly<Record<string, string>>;
  /** Why the result is accepted. */
  readonly suppression?: string;
}

/**
 * A log of SARIF 2.1.0 with one run, as code scanning reads it. `rules` are all that results name,
 * in their order.
 */
export function formatSarifLog(
  rules: readonly SarifRule[],
  results: readonly SarifResult[],
): string {
  const indices = new Map(rules.map(({ id }, index) => [id, index]));
  const run = {
    tool: { driver: { name: "signalbox", rules: rules.map(ruleObject) } },
    columnKind: "utf16CodeUnits",
    results: results.map((result) => resultObject(result, indices)),
  };
  return jsonText({ $schema: SARIF_SCHEMA, version: "2.1.0", runs: [run] });
}

const SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

function ruleObject({ id, meaning, fix, level }: SarifRule): object {
  return {
    id,
    shortDescription: { text: meaning },
    help: { text: fix },
    defaultConfiguration: { level },
  };
}

function resultObject(result: SarifResult, indices: ReadonlyMap<string, number>): object {
  const { ruleId, level, message, location, fingerprints, suppression } = result;
  return {
    ruleId,
    ruleIndex: indices.get(ruleId) ?? -1,
    level,
    message: { text: inertText(message) },
    ...(location === null ? {} : { locations: [locationObject(location)] }),
    ...(fingerprints === undefined ? {} : { partialFingerprints: fingerprints }),
    ...(suppression === undefined
      ? {}
      : {
          suppressions: [
            { kind: "external", status: "accepted", justification: inertText(suppression) },
          ],
        }),
  };
}

/**
 * A plain text message makes a link of `[text](target)`; brackets after a backslash are text (SARIF
 * 2.1.0 §3.11.6). Names come from files.
 */
function inertText(message: string): string {
  const text = printableLines(message);
  return text.includes("](") ? text.replaceAll(/[\\[\]]/g, String.raw`\$&`) : text;
}

function locationObject({ file, line, column }: NonNullable<SarifResult["location"]>): object {
  return {
    physicalLocation: {
      artifactLocation: {
        uri: file.toWellFormed().split("/").map(encodeURIComponent).join("/"),
        uriBaseId: "%SRCROOT%",
      },
      region: { startLine: line, startColumn: column },
    },
  };
}
