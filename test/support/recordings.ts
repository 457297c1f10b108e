import { readFileSync } from "node:fs";
import { sharedAtHand } from "./at-hand.ts";

/**
 * One recorded exchange between a real client and a real provider (of a folder beside the checkout
 * that is not published).
 */
export interface Recording {
  readonly id: string;
  readonly host: string;
  readonly model?: string;
  readonly streaming: boolean;
  readonly status: number | null;
  readonly request: { readonly body: unknown } | null;
  readonly response: {
    readonly status: number | null;
    readonly body_type: "json" | "sse" | "aws-eventstream" | "jsonl-chunks";
    readonly body: unknown;
  };
}

/** @returns `null` where there are none; the tests that need them are skipped with that reason. */
export function readRecordings(protocol: string): readonly Recording[] | null {
  const file = sharedAtHand(`recordings/${protocol}.jsonl`);
  if (file === null) return null;
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line): Recording => JSON.parse(line));
}

/**
 * The stream as bytes on the wire; recordings that lost their framing get it back, in the way of
 * their protocol.
 */
export function streamText({ response }: Recording): string {
  const text = String(response.body);
  if (response.body_type !== "jsonl-chunks") return text;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const named = lines.map((line) => {
    const type = typeOf(line);
    return type === null ? null : `event: ${type}\ndata: ${line}\n\n`;
  });
  // The protocols whose events have names end with one of them.
  if (named.every((event) => event !== null)) return named.join("");
  return `${lines.map((line) => `data: ${line}\n\n`).join("")}data: [DONE]\n\n`;
}

/** One recording was written by hand and is not JSON everywhere. */
function typeOf(line: string): string | null {
  try {
    const event: { readonly type?: unknown } = JSON.parse(line);
    return typeof event.type === "string" ? event.type : null;
  } catch {
    return null;
  }
}
