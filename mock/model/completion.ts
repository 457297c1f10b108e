import type { Behaviour, FinishReason } from "../behaviour.ts";

/** The content of a simulated answer, independent of any protocol. */
export interface CompletionTask {
  /** The answer's text where no tool is called. */
  readonly text: string;
  /** Tools to call, with their arguments as JSON text. */
  readonly calls: readonly string[];
  /** Most tokens of the answer, reasoning included; `null` without a limit. */
  readonly limit: number | null;
  /** Texts that end the answer. They are omitted from it, as providers do. */
  readonly stop: readonly string[];
  readonly reasoning: boolean;
}

/** One token. `call` is the index of the tool call that the text belongs to. */
export type Piece =
  | { readonly kind: "reasoning" | "text" | "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly call: number; readonly text: string };

export interface Completion {
  readonly pieces: readonly Piece[];
  readonly finish: FinishReason;
  /** The stop sequence that ended the text; `null` where none did. */
  readonly stoppedBy: string | null;
  /** Tokens of reasoning among the pieces. */
  readonly reasoningTokens: number;
}

const REASONING = "The request is simulated, so there is nothing to think about.";
const REFUSAL = "This is a simulated refusal.";

/** The same task under the same behaviour always gives the same completion. */
export function complete(task: CompletionTask, behaviour: Behaviour): Completion {
  const pieces: Piece[] = [];
  let stoppedBy: string | null = null;
  if (task.reasoning || behaviour.reasoning)
    for (const text of tokens(REASONING)) pieces.push({ kind: "reasoning", text });
  if (behaviour.refusal) for (const text of tokens(REFUSAL)) pieces.push({ kind: "refusal", text });
  else if (task.calls.length > 0) {
    for (const [call, json] of task.calls.entries())
      for (const text of tokens(json)) pieces.push({ kind: "call", call, text });
  } else {
    const said = stopped(textPieces(task, behaviour), task.stop);
    for (const text of said.pieces) pieces.push({ kind: "text", text });
    stoppedBy = said.stoppedBy;
  }
  const isCut = task.limit !== null && pieces.length > task.limit;
  const kept = isCut ? pieces.slice(0, task.limit ?? 0) : pieces;
  const natural: FinishReason = isCut
    ? "length"
    : task.calls.length > 0 && !behaviour.refusal
      ? "tool_calls"
      : "stop";
  return {
    pieces: kept,
    finish: behaviour.finish ?? natural,
    stoppedBy: isCut ? null : stoppedBy,
    reasoningTokens: kept.reduce((sum, piece) => (piece.kind === "reasoning" ? sum + 1 : sum), 0),
  };
}

/** Joins the text of all pieces of a kind. */
export function textOf(completion: Completion, kind: "reasoning" | "text" | "refusal"): string {
  let text = "";
  for (const piece of completion.pieces) if (piece.kind === kind) text += piece.text;
  return text;
}

/** Joins the arguments of one tool call; `null` where the answer was cut before it. */
export function callOf(completion: Completion, call: number): string | null {
  let text: string | null = null;
  for (const piece of completion.pieces)
    if (piece.kind === "call" && piece.call === call) text = (text ?? "") + piece.text;
  return text;
}

function textPieces(task: CompletionTask, behaviour: Behaviour): readonly string[] {
  const { chunks, size, unicode } = behaviour;
  if (unicode) return repeated(BEYOND_ASCII, chunks ?? BEYOND_ASCII.length);
  return chunks === null && size === null ? tokens(task.text) : filler(chunks, size);
}

interface Said {
  readonly pieces: readonly string[];
  readonly stoppedBy: string | null;
}

/** The pieces up to the first text that ends the answer. */
function stopped(pieces: readonly string[], stop: readonly string[]): Said {
  if (stop.length === 0) return { pieces, stoppedBy: null };
  const text = pieces.join("");
  let end = text.length;
  let stoppedBy: string | null = null;
  for (const candidate of stop) {
    const index = text.indexOf(candidate);
    if (index === -1 || index >= end) continue;
    end = index;
    stoppedBy = candidate;
  }
  return stoppedBy === null ? { pieces, stoppedBy } : { pieces: upTo(pieces, end), stoppedBy };
}

function upTo(pieces: readonly string[], length: number): readonly string[] {
  const kept: string[] = [];
  let room = length;
  for (const piece of pieces) {
    if (room <= 0) break;
    kept.push(piece.slice(0, room));
    room -= piece.length;
  }
  return kept;
}

/**
 * Words with the space before them, long ones in several pieces. Joined, they are the text again.
 */
function tokens(text: string): readonly string[] {
  return text.match(/\s*\S{1,12}|\s+$/gu) ?? [];
}

/**
 * Two, three and four bytes a character, a composed one, and what other languages take for the end
 * of a line (NEL, LS, PS) but JSON and event streams do not.
 */
const BEYOND_ASCII: readonly string[] = [
  "Gr\u00fc\u00dfe",
  " \u4fe1\u53f7",
  " \u{1f6a6}",
  " e\u0301",
  " a\u0085b",
  " a\u2028b",
  " a\u2029b",
  " \u{1f469}\u200d\u{1f52c}",
];

const WORDS: readonly string[] = [
  "signal",
  " block",
  " clear",
  " points",
  " set",
  " route",
  " locked",
  " train",
  " passed",
  " line",
];

/** Characters of a piece where only the size is set. */
const PIECE_SIZE = 64;

/** The last filler made: benchmarks request the same one a hundred thousand times. */
let lastFiller: {
  readonly chunks: number | null;
  readonly size: number | null;
  readonly pieces: readonly string[];
} | null = null;

/** Text in exactly `chunks` pieces and exactly `size` bytes, as far as each is given. */
function filler(chunks: number | null, size: number | null): readonly string[] {
  if (lastFiller?.chunks === chunks && lastFiller.size === size) return lastFiller.pieces;
  const pieces =
    size === null
      ? repeated(WORDS, chunks ?? 0)
      : slices(chunks ?? Math.ceil(size / PIECE_SIZE), size);
  lastFiller = { chunks, size, pieces };
  return pieces;
}

function repeated(list: readonly string[], count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => list[index % list.length] ?? "");
}

function slices(count: number, size: number): readonly string[] {
  const round = WORDS.join("");
  const text = round.repeat(Math.ceil(size / round.length)).slice(0, size);
  return Array.from({ length: count }, (_, index) =>
    text.slice(Math.floor((index * size) / count), Math.floor(((index + 1) * size) / count)),
  );
}
