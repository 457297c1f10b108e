import type { SimulationReport } from "../../../../src/simulate/report/report.ts";

/**
 * Members with values of ours, which decide what stands where; everything else is somebody's text.
 */
const OWN_MEMBERS = new Set(
  "format kind kinds access outcome status what view slot severity balance shapes changed_shapes reasoningEffort effect gate".split(
    " ",
  ),
);

/** Texts that try to leave their element. */
export const HOSTILE = [
  "<script>alert(1)</script>",
  "</script><script>alert(1)</script>",
  "</style><style>*{display:none}",
  "<!--",
  "-->",
  "]]>",
  `"><img src=x onerror=alert(1)>`,
  `" onmouseover="alert(1)`,
  `' onmouseover='alert(1)`,
  "&lt;b&gt;",
  "&#60;b",
  "&quot;",
  "`${1}`",
  "\u2028\u2029",
  "\u0000\u0008\u001b[31m\u007f\u009f",
  "\r\n<b>\t",
  "\u202Egnp.exe\u202C",
  "\uD800",
  "javascript:alert(1)",
  "</details></section></main>",
  "constructor",
  "__proto__",
];

/**
 * The report with something put before every text that is not ours: as long as that is the same
 * everywhere, equal stays equal.
 */
export function tainted(value: SimulationReport, taint: string): SimulationReport {
  const own = (key: string): boolean => OWN_MEMBERS.has(key);
  const visit = (part: unknown, key: string, owner: unknown): unknown => {
    if (typeof part === "string")
      return own(key) || isFindingKind(key, owner) ? part : taint + part;
    if (Array.isArray(part)) return part.map((each) => visit(each, key, part));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(
      Object.entries(part).map(([name, each]) => [name, visit(each, name, part)]),
    );
  };
  return visit(value, "", null) as SimulationReport;
}

function isFindingKind(key: string, owner: unknown): boolean {
  return key === "kind" && typeof owner === "object" && owner !== null && "subject" in owner;
}
