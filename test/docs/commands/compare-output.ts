/** What is another each time; what a page shows of it is an example. */
const PASSING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, "TIME"],
  [/\b(req|dec)_[0-9a-f]{32}\b/g, "$1_ID"],
  [/\b[0-9a-f]{64}\b/g, "DIGEST"],
  [/\bsbx_([a-z]+)_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}\b/g, "sbx_$1_KEY"],
  [/\b\d+(?:\.\d+)? ms\b/g, "N ms"],
  // One id in eight has no digit; prose has capitals only in front.
  [/\b(?=\w+[A-Z\d])(?=\w*[a-z])[0-9A-Za-z]{12}\b/g, "PUBLIC_ID"],
];

/** What differs in the output of one page, and a placeholder for it. */
export type Varies = readonly (readonly [RegExp, string])[];

function settled(text: string, varies: Varies): string {
  return [...PASSING, ...varies]
    .reduce((so, [pattern, placeholder]) => so.replaceAll(pattern, placeholder), text)
    .replaceAll(/[ \r]+$/gm, "")
    .replaceAll(/ +/g, " ")
    .trimEnd();
}

/**
 * Whether a command printed what the page says. In a page `…` is anything within a line, and a line
 * that is only `…` any number of lines. Times, ids, digests, durations and the width of columns may
 * differ.
 *
 * @param varies patterns with the flag `g`.
 */
export function outputMatches(page: string, printed: string, varies: Varies = []): boolean {
  const pattern = settled(page, varies)
    .split("\n")
    .map((line) => {
      if (line.trim() === "…") return "(?:[^\\n]*\\n)*?";
      return `${line
        .split("…")
        .map((part) => RegExp.escape(part))
        .join("[^\\n]*")}\\n`;
    })
    .join("");
  return new RegExp(`^${pattern}$`).test(`${settled(printed, varies)}\n`);
}
