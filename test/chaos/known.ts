import type { Column } from "./columns.ts";
import type { Cell } from "./routes.ts";

/** Cells that are known to fail. A row whose cells all pass fails the suite, so that it is taken out. */
export interface Known {
  readonly reason: string;
  readonly cells: (cell: Cell) => boolean;
}

/** Streams that are relayed and not translated: caller and provider speak one protocol. */
function isRelayed({ surface, dialect, stream }: Column): boolean {
  return stream && RELAYED[surface.name] === dialect;
}

const RELAYED: Readonly<Record<string, string>> = {
  chat: "openai-chat",
  completions: "openai-completions",
  responses: "openai-responses",
  messages: "anthropic-messages",
};

export const KNOWN: readonly Known[] = [
  {
    reason: "a relayed response that failed is ended with a sequence number too many",
    cells: ({ column, fault }) =>
      isRelayed(column) && column.surface.name === "responses" && fault.words[0]?.startsWith("failed=") === true,
  },
  {
    reason:
      "a relayed stream passes an event on twice that is marked as one event: by number, or by the block that it ends",
    cells: ({ column, fault }) => isRelayed(column) && fault.repeats,
  },
];

export function isKnown(cell: Cell): boolean {
  return KNOWN.some(({ cells }) => cells(cell));
}
