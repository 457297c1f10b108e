import { messagesUpstream } from "./streamed.ts";
import { arrow, band, svg, text } from "./draw.ts";

const [LEFT, RIGHT, WIDTH] = [16, 496, 448];
const SHOWN = 57;

/**
 * Events of a provider and what the client gets for each, made by the translation itself:
 * docs/translation.md.
 */
export function translatedStreamDrawing(): string {
  let y = 62;
  const parts: string[] = [];
  for (const { received, sent } of messagesUpstream()) {
    const top = y;
    parts.push(
      ...received.map((line, index) => text("code", LEFT + 16, top + 18 * index, shortened(line))),
    );
    parts.push(
      ...sent.map((line, index) => text("code", RIGHT + 16, top + 18 * index, shortened(line))),
    );
    if (sent.length > 0) parts.push(arrow(`M${LEFT + WIDTH - 6} ${top - 4} H${RIGHT + 10}`));
    y += 18 * Math.max(received.length, sent.length) + 12;
  }
  return svg({
    title: "A translated stream",
    description:
      "On the left the events of a provider that uses the Messages protocol, on the right what a client of chat completions gets for each: the start becomes a chunk with the role, each text delta a chunk with its text, the end a chunk with the finish reason, then the usage, then the end mark.",
    width: 960,
    height: y + 16,
    parts: [
      band(LEFT, 16, WIDTH, y - 16, "The provider sends (Messages)"),
      band(RIGHT, 16, WIDTH, y - 16, "The client gets (chat completions)"),
      ...parts,
    ],
  });
}

function shortened(line: string): string {
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN - 1)}…`;
}
