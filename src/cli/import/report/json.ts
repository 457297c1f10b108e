import type { ImportResult } from "./result.ts";

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
  return `${JSON.stringify(report, null, 2)}\n`;
}
