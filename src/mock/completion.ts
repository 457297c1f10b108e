import type { Behaviour, FinishReason } from "./behaviour.ts";

/** What a simulated model is to say, free of any protocol. */
export interface CompletionTask {
  /** The answer's text where no tool is called. */
  readonly text: string;
  /** Tools to call, with their arguments as JSON text. */
  readonly calls: readonly string[];
  /** Most tokens of the answer, reasoning included; `null` without a limit. */
  readonly limit: number | null;
  /** Texts that end the answer. They are left out of it, as providers do. */
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
  /** Tokens of reasoning among the pieces. */
  readonly reasoningTokens: number;
}

const REASONING = "The request is simulated, so there is nothing to think about.";
const REFUSAL = "This is a simulated refusal.";

/** The same task under the same behaviour always gives the same completion. */
export function complete(task: CompletionTask, behaviour: Behaviour): Completion {
  const pieces: Piece[] = [];
  if (task.reasoning || behaviour.reasoning)
    for (const text of tokens(REASONING)) pieces.push({ kind: "reasoning", text });
  if (behaviour.refusal) for (const text of tokens(REFUSAL)) pieces.push({ kind: "refusal", text });
  else if (task.calls.length > 0) {
    for (const [call, json] of task.calls.entries())
      for (const text of tokens(json)) pieces.push({ kind: "call", call, text });
  } else {
    for (const text of textPieces(task, behaviour)) pieces.push({ kind: "text", text });
  }
  const isCut = task.limit !== null && pieces.length > task.limit;
  const kept = isCut ? pieces.slice(0, task.limit ?? 0) : pieces;
  const natural: FinishReason = isCut ? "length" : task.calls.length > 0 && !behaviour.refusal ? "tool_calls" : "stop";
  return {
    pieces: kept,
    finish: behaviour.finish ?? natural,
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
  const pieces =
    behaviour.chunks === null && behaviour.size === null ? tokens(task.text) : filler(behaviour.chunks, behaviour.size);
  if (task.stop.length === 0) return pieces;
  const text = pieces.join("");
  const ends = task.stop.map((stop) => text.indexOf(stop)).filter((index) => index !== -1);
  return ends.length === 0 ? pieces : upTo(pieces, Math.min(...ends));
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

/** Words with the space before them, long ones in several pieces. Joined, they are the text again. */
function tokens(text: string): readonly string[] {
  return text.match(/\s*\S{1,12}|\s+$/gu) ?? [];
}

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

/** Characters of a piece where only the size is asked for. */
const PIECE_SIZE = 64;

/** The last filler made: benchmarks ask for the same one a hundred thousand times. */
let lastFiller: {
  readonly chunks: number | null;
  readonly size: number | null;
  readonly pieces: readonly string[];
} | null = null;

/** Text in exactly `chunks` pieces and exactly `size` bytes, as far as each is given. */
function filler(chunks: number | null, size: number | null): readonly string[] {
  if (lastFiller?.chunks === chunks && lastFiller.size === size) return lastFiller.pieces;
  const pieces = size === null ? words(chunks ?? 0) : slices(chunks ?? Math.ceil(size / PIECE_SIZE), size);
  lastFiller = { chunks, size, pieces };
  return pieces;
}

function words(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => WORDS[index % WORDS.length] ?? "");
}

function slices(count: number, size: number): readonly string[] {
  const round = WORDS.join("");
  const text = round.repeat(Math.ceil(size / round.length)).slice(0, size);
  return Array.from({ length: count }, (_, index) =>
    text.slice(Math.floor((index * size) / count), Math.floor(((index + 1) * size) / count)),
  );
}
