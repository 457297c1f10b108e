import { readFileSync } from "node:fs";
import { join } from "node:path";
import { band, svg, terminalLine, text } from "./draw.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The rule of the shipped policy that the quick start meets. */
function rule(): readonly string[] {
  const rules = read("policies/data-retention.rego").split("\n\n");
  const found = rules.find((one) => one.includes('candidate.retention == "none"'));
  if (found === undefined) throw new Error("policies/data-retention.rego: the rule is gone");
  return found.split("\n").map((line) => line.replaceAll("\t", "    "));
}

/** The first screen of the worked example of docs/simulate.md, without its details. */
function verdict(): readonly string[] {
  const [, screen = ""] = read("docs/simulate.md").split('us-fallback; echo "exit $?"\n');
  const rows = screen.split("\n").slice(0, screen.split("\n").indexOf("Details"));
  const kept = rows.filter((row) => /^(FAIL|WIDENS|SAME|NOTE|Decide)\b/.test(row));
  if (!kept.some((row) => row.startsWith("FAIL"))) throw new Error("docs/simulate.md: no verdict");
  return kept.slice(0, 6);
}

/** By the status at the beginning of a line. */
const COLOURS: Readonly<Record<string, "bad" | "warn" | "good">> = {
  "403": "bad",
  FAIL: "bad",
  FAILS: "bad",
  WIDENS: "warn",
  SAME: "good",
};

function lines(x: number, y: number, rows: readonly string[]): string {
  return rows
    .map((row, index) => {
      const first = /^\w+/.exec(row)?.[0] ?? "";
      const colour = COLOURS[first];
      const at = y + 20 * index;
      if (colour === undefined) return text("code", x, at, row);
      return terminalLine(x, at, colour, first, row.slice(first.length));
    })
    .join("\n  ");
}

/** The picture of the README: a denied request, the rule that denied it, a reviewer's screen. */
export function firstLookDrawing(): string {
  const screen = verdict();
  return svg({
    title: "A denied request, the rule that denied it, and a pull request as its reviewer sees it",
    description: `A request for the route chat-small is answered with 403 and the reason DATA_RETAINED. The rule of the policy data-retention: ${rule().join(" ")}. signalbox simulate prints of a pull request: ${screen.join(" ")}`,
    width: 960,
    height: 296 + 20 * screen.length,
    parts: [
      band(16, 16, 440, 196, "1  A product calls, with the SDK it has"),
      lines(32, 68, [
        "client.chat.completions.create(",
        '    model="chat-small", messages=…)',
        "",
        "403 Denied by policy data-retention@r1",
        "    constraint nothing_kept",
        "    reason     DATA_RETAINED",
        "    candidate  gpt-5-mini-us",
      ]),
      band(472, 16, 472, 196, "2  The Rego rule that decided: policies/data-retention.rego"),
      lines(488, 68, rule()),
      text("label", 488, 184, "Decided before any provider is called; recorded without content."),
      band(16, 228, 928, 52 + 20 * screen.length, "3  What the reviewer of a pull request sees"),
      lines(32, 280, screen),
    ],
  });
}
