import type { Diagnostic } from "../../canon/diagnostic.ts";
import type { ReportEntry, SecretEntry, Outcome } from "./import-report.ts";
import { SIMULATED } from "./import-files.ts";
import { jsonText } from "../terminal/printing.ts";

/** Everything that an import has to say. */
export interface ImportResult {
  readonly source: string;
  /** The source's file as messages print it. */
  readonly file: string;
  /** Files written, besides the report. */
  readonly files: readonly string[];
  readonly entries: readonly ReportEntry[];
  readonly secrets: readonly SecretEntry[];
  readonly check: {
    readonly errors: readonly Diagnostic[];
    readonly warnings: readonly Diagnostic[];
    /** SHA-256 of the table; `null` where it has an error. */
    readonly revision: string | null;
  };
  /** Commands to make keys of the source again. */
  readonly keys: readonly string[];
  /** A request that the simulated provider answers; `null` where no route generates. */
  readonly firstRequest: { readonly workspace: string; readonly body: string } | null;
}

/** The report for programs; `format` is the version of its shape. */
export function formatImportJson({ check, ...result }: ImportResult): string {
  const finding = ({ code, severity, file, line, message }: ImportResult["check"]["errors"][number]) => ({
    code,
    severity,
    file,
    line,
    message,
  });
  const report = {
    format: 1,
    ...result,
    check: {
      revision: check.revision,
      errors: check.errors.map(finding),
      warnings: check.warnings.map(finding),
    },
  };
  return jsonText(report);
}

const TITLES: Readonly<Record<Outcome, string>> = {
  decide: "To decide by hand",
  changed: "Carried over with a changed meaning",
  left_out: "Not carried over, and why",
  carried: "Carried over",
};

/** Entries that need a decision come first. */
const ORDER: readonly Outcome[] = ["decide", "changed", "left_out", "carried"];

/** The report for people. */
export function formatImportMarkdown(result: ImportResult): string {
  const sections = ORDER.flatMap((outcome) => {
    const entries = result.entries.filter((entry) => entry.outcome === outcome);
    if (entries.length === 0) return [];
    const rows = entries.map(
      ({ file, line, source, text }) => `| ${file}:${line} | ${codeSpan(source)} | ${cell(text)} |`,
    );
    return [`## ${TITLES[outcome]}\n\n| Line | Source | What |\n|---|---|---|\n${rows.join("\n")}\n`];
  });
  const counts = ORDER.map(
    (outcome) => `| ${TITLES[outcome]} | ${result.entries.filter((entry) => entry.outcome === outcome).length} |`,
  );
  return `# Import of ${result.file}

Written by \`signalbox import ${result.source}\`. Nothing of the source is left out of this page.
No secret of the source is in any file that was written.

| What became of it | Values |
|---|---|
${counts.join("\n")}

${checkText(result)}
${tryText(result)}
${secretsText(result)}${keysText(result)}${sections.join("\n")}
Files: ${result.files.map(codeSpan).join(", ")}.
`;
}

function checkText({ check }: ImportResult): string {
  const { errors, warnings, revision } = check;
  const rows = [...errors, ...warnings].map(
    ({ severity, file, line, code: name, message }) => `- ${severity} ${file}:${line} ${name}: ${cell(message)}`,
  );
  const verdict =
    revision === null || errors.length > 0
      ? `\`signalbox check\` finds ${errors.length} errors; nothing is served until they are corrected.`
      : `\`signalbox check\` was run: no errors, ${warnings.length} warnings; table ${revision.slice(0, 12)}.`;
  return `## Check\n\n${verdict}\n${rows.length === 0 ? "" : `\n${rows.join("\n")}\n`}`;
}

function tryText({ firstRequest }: ImportResult): string {
  if (firstRequest === null) return "";
  const { workspace, body } = firstRequest;
  return `## First request

In the environment \`${SIMULATED}\` the simulated provider answers for every row. No secret is needed and no provider is called.

\`\`\`sh
signalbox serve --environment ${SIMULATED}
\`\`\`

In another terminal, in the same folder:

\`\`\`sh
KEY=$(signalbox keys create --workspace ${workspace} --scopes inference --owner import --expires 1d --quiet)
curl -s http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -d '${body}'
\`\`\`
`;
}

function secretsText({ secrets }: ImportResult): string {
  if (secrets.length === 0) return "";
  const rows = secrets.map(({ variable, literals }) => {
    const lines = literals.map(({ file, line }) => `${file}:${line}`).join(", ");
    const what =
      literals.length === 0
        ? "named by the source, or the usual one of the provider"
        : `${lines} holds the key itself: put it into the environment, and replace it where the source is in git`;
    return `| ${codeSpan(variable)} | ${what} |`;
  });
  return `## Secrets to set\n\n| Variable | Where the source has it |\n|---|---|\n${rows.join("\n")}\n\n`;
}

function keysText({ keys }: ImportResult): string {
  if (keys.length === 0) return "";
  return `## Keys to make\n\nKeys of the source cannot be imported. These commands create keys with the same grants:\n\n\`\`\`sh\n${keys.join("\n")}\n\`\`\`\n\n`;
}

function codeSpan(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

/** In a table a line feed ends the row, and `|` the cell. */
function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}
