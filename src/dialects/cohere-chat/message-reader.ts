import { countIn } from "../json.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { AnswerEvents } from "../answer-events.ts";
import { answerFailure } from "../answer-failure.ts";
import { finishFailure, finishReason } from "../finish-reasons.ts";
import { CallReader, readCitation } from "./call-reader.ts";
import type { TokenLogprob, TokenUsage } from "../../canon/generate/event.ts";

/**
 * Reads a message piece by piece; streams and whole answers have the same values, so there is one
 * mapping.
 *
 * What the model says of its plan before it calls tools is reported as text. It is written for the
 * reader ("I will look up the weather"), also by models that do not reason; as text every surface
 * can carry it, it comes back in the history, and no caller gets reasoning that has not been
 * approved for any.
 */
export class MessageReader extends AnswerEvents {
  readonly #wantsLogprobs: boolean;
  readonly #calls = new CallReader(this.blocks);
  #started = false;
  /** Part of the content whose text may still be cited: the latest, until something else begins. */
  #text: number | null = null;

  constructor(request: GenerateRequest) {
    super();
    this.#wantsLogprobs = request.logprobs !== null;
  }

  /** The protocol's answers do not name their model. */
  start(): void {
    if (this.#started || this.over) return;
    this.#started = true;
    this.emit({ type: "start", model: null });
  }

  /** A whole message. */
  takeMessage(message: JsonObject, logprobs: JsonValue | undefined): void {
    const { content, tool_calls: calls, citations } = message;
    const parts: readonly JsonValue[] = Array.isArray(content) ? content : [];
    const cited: readonly JsonValue[] = Array.isArray(citations) ? citations : [];
    const probabilities = this.#wantsLogprobs ? readLogprobs(logprobs) : NOTHING;
    const first = parts.findIndex((part) => isJsonObject(part) && part["type"] === "text");
    for (const [index, part] of parts.entries()) {
      this.#takePart(index, isJsonObject(part) ? part : {}, probabilities);
      for (const citation of cited)
        if ((readCitation(citation).content ?? first) === index) this.cite(citation);
    }
    if (first === -1 && cited.length > 0) this.drop("citations_dropped");
    this.addPlan(message["tool_plan"]);
    for (const [index, call] of (Array.isArray(calls) ? calls : []).entries()) {
      this.openCall(index, call);
      this.closeCall(index);
    }
  }

  openContent(index: number, part: JsonObject): void {
    this.#takePart(index, part, NOTHING);
  }

  addContent(index: number, part: JsonObject, logprobs: JsonValue | undefined): void {
    this.#addContent(index, part, this.#wantsLogprobs ? readLogprobs(logprobs) : NOTHING);
  }

  addPlan(plan: JsonValue | undefined): void {
    if (typeof plan !== "string" || plan === "" || !this.#goesOn()) return;
    this.#text = null;
    this.blocks.text(plan, [], "plan");
  }

  openCall(index: number, call: JsonValue | undefined): void {
    if (!this.#goesOn()) return;
    this.#text = null;
    const failure = this.#calls.open(index, call);
    if (failure !== null) this.fail(failure);
  }

  addArguments(index: number, json: JsonValue | undefined): void {
    if (typeof json !== "string" || !this.#goesOn()) return;
    if (!this.#calls.add(index, json)) this.fail(answerFailure("malformed"));
  }

  closeCall(index: number): void {
    if (this.#goesOn()) this.#calls.close(index);
  }

  cite(value: JsonValue | undefined): void {
    if (!this.#goesOn()) return;
    const { content, citations, incomplete } = readCitation(value);
    const text = this.#text;
    const hasPosition = text !== null && (content === null || content === text);
    if (incomplete || !hasPosition) this.drop("citations_dropped");
    if (hasPosition) for (const citation of citations) this.blocks.citation(citation, String(text));
  }

  /** The end of the answer: why it ended, and its usage. */
  end({ finish_reason: value, error_type: type, usage: counts }: JsonObject): void {
    if (!this.#goesOn()) return;
    const failure = finishFailure(value);
    const reason = finishReason(value);
    if (failure === null && reason !== null) this.blocks.closeAll();
    this.flush();
    const usage = readUsage(counts);
    if (usage !== null) this.emit({ type: "usage", usage });
    if (failure !== null) return this.fail({ ...failure, code: errorCode(type) ?? failure.code });
    if (reason === null) return this.fail(answerFailure("truncated"));
    this.finish(reason);
  }

  /** A piece of a kind that the protocol did not have. */
  skip(): void {
    if (this.#goesOn()) this.drop("unknown_content_dropped");
  }

  #takePart(index: number, part: JsonObject, probabilities: ReadLogprobs): void {
    const { type, text } = part;
    if (type !== "text" && type !== "thinking") {
      return this.fail(answerFailure("malformed", "unexpected_output_item"));
    }
    this.#addContent(
      index,
      part,
      typeof text === "string" ? logprobsOf(text, probabilities) : NOTHING,
    );
  }

  #addContent(
    index: number,
    { text, thinking }: JsonObject,
    { logprobs, joined }: ReadLogprobs,
  ): void {
    if (!this.#goesOn()) return;
    if (typeof thinking === "string" && thinking !== "") {
      this.#text = null;
      this.blocks.reasoning(thinking, false, String(index));
    }
    if (typeof text !== "string") return;
    this.#text = index;
    if (joined) this.drop("logprobs_coarser");
    this.blocks.text(text, logprobs, String(index));
  }

  /**
   * Whether pieces are still taken. One that comes without the message's beginning is the
   * beginning.
   */
  #goesOn(): boolean {
    this.start();
    return !this.over;
  }
}

const NOTHING: ReadLogprobs = Object.freeze({ logprobs: [], joined: false });

/** Our code for an `error_type` beside ERROR that helps a caller and reveals no content. */
function errorCode(type: JsonValue | undefined): string | null {
  return type === "INVALID_TOOL_GENERATION" ? "tool_use_failed" : null;
}

/**
 * The counts of an answer; `null` where it has none. `tokens` are what the model read and made;
 * `billed_units` leave out what the provider adds to every prompt, so they are a price and not a
 * count. Cached tokens are part of the input, reasoning is part of the output.
 */
function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { tokens } = usage;
  const made: TokenUsage = {
    input: countIn(tokens, "input_tokens"),
    output: countIn(tokens, "output_tokens"),
    cacheRead: countIn(usage, "cached_tokens"),
    cacheWrite: null,
    reasoning: countIn(tokens, "reasoning_tokens"),
  };
  return Object.values(made).every((count) => count === null) ? null : made;
}

/** Log probabilities of a text, and whether some stand for several tokens at once. */
interface ReadLogprobs {
  readonly logprobs: readonly TokenLogprob[];
  readonly joined: boolean;
}

/**
 * Entries of `logprobs`: each a piece of text with the numbers of the tokens that make it up. Where
 * those are several, nothing says which letters belong to which; the sum of their logarithms is the
 * piece's own, and that is what is reported.
 */
function readLogprobs(value: JsonValue | undefined): ReadLogprobs {
  const entries: readonly JsonValue[] = Array.isArray(value)
    ? value
    : isJsonObject(value)
      ? [value]
      : [];
  let joined = false;
  const logprobs = entries.flatMap((entry): readonly TokenLogprob[] => {
    const { text, logprobs: numbers } = isJsonObject(entry) ? entry : {};
    if (typeof text !== "string" || !Array.isArray(numbers)) return [];
    const known = numbers.filter((number) => typeof number === "number");
    if (known.length === 0 || known.length < numbers.length) return [];
    joined ||= known.length > 1;
    return [
      {
        token: text,
        logprob: known.reduce((sum, number) => sum + number, 0),
        bytes: null,
        top: [],
      },
    ];
  });
  return { logprobs, joined };
}

/**
 * Those at the end of the list that make up the text: a whole answer's list may begin with those of
 * its reasoning.
 */
function logprobsOf(text: string, { logprobs, joined }: ReadLogprobs): ReadLogprobs {
  let length = 0;
  let first = logprobs.length;
  while (first > 0 && length < text.length) {
    first -= 1;
    length += logprobs[first]?.token.length ?? 0;
  }
  const own = logprobs.slice(first);
  return own.map(({ token }) => token).join("") === text
    ? { logprobs: own, joined }
    : { logprobs: [], joined: false };
}
