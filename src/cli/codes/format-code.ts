import type { CodeKind, ExplainedCode } from "./explained-codes.ts";

const TITLES: Readonly<Record<CodeKind, string>> = {
  configuration: "in routes.yaml",
  policies: "in a policy",
  assertions: "in assertions.yaml",
  start: "at a start or a reload of the server",
  tests: "in signalbox policy test",
  answers: "in an answer of the HTTP API",
};

/** What `check --explain` prints of one code. */
export function formatCode(code: string, meanings: readonly ExplainedCode[]): string {
  const parts = meanings.map(({ kind, weight, meaning, example, fix }) => {
    const of = kind === "answers" ? `status ${weight}` : weight;
    const shown = example.map((line) => `    ${line}`).join("\n");
    return `${code} ${TITLES[kind]} (${of})\n\n  What it means\n    ${meaning}\n\n  For example\n${shown}\n\n  What to do\n    ${fix}\n`;
  });
  return parts.join("\n");
}
