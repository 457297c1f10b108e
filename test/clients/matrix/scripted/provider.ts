import type { ServerResponse } from "node:http";
import { isJsonObject } from "../../../../src/canon/json.ts";
import { answerJson, startSse, startUpstream } from "../../../support/router.ts";
import { answerOf } from "./answers.ts";
import { readRequested, type Requested, type Protocol, type Turn } from "./turns.ts";

/** What goes wrong at the provider with the requests for one model. */
export type Script =
  /** Nothing: a command is run where a tool can, then the last text is sent. */
  | "plain"
  /** Every call is answered with 503 until the fault is said to be over. */
  | "unavailable"
  /** The first stream of a {@link Playing.toolless last} answer ends in the middle of it. */
  | "cut-once"
  /** Every stream of one does. */
  | "cut-always"
  /** The first request for one is too long for the model. */
  | "overflow"
  /** Every answer is said to have used a million tokens. */
  | "expensive"
  /** No answer until the fault is said to be over. */
  | "held";

/** What the scripted model says in the end; users have to read it. */
export const LAST_TEXT = "Everything has been written.";

/** The file that the tool loop writes into the folder of an agent, and what it holds. */
export const PROOF = { file: "proof.txt", text: "signalbox" } as const;

/** What the script has to know of the client. */
export interface Playing {
  /** Whether the fault is over; evaluated at every call. */
  readonly isOver?: () => boolean;
  /**
   * The client sends no tools, and every answer is its last. That of others is the one after a
   * tool's result: agents have titles and summaries written beside it, without tools, whose failure
   * is not visible.
   */
  readonly toolless?: boolean;
}

/** One provider that speaks three protocols, and does with each model as its script says. */
export interface ScriptedProvider {
  readonly url: string;
  /** Begins anew for one model. */
  play(model: string, script: Script, playing?: Playing): void;
}

interface State extends Required<Playing> {
  readonly script: Script;
  faults: number;
}

const HEALTHY: Required<Playing> = { isOver: () => false, toolless: false };

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const states = new Map<string, State>();
  let calls = 0;
  const { url } = await startUpstream(async (response, call) => {
    const protocol = protocolOf(call.path);
    const body: unknown = JSON.parse(call.body);
    if (protocol === null || !isJsonObject(body))
      return answerJson(response, { error: { message: "no" } }, 404);
    if (call.path.includes("/count_tokens")) return answerJson(response, { input_tokens: 100 });
    const requested = readRequested(protocol, body);
    const state = states.get(requested.model) ?? { ...HEALTHY, script: "plain", faults: 0 };
    const { script } = state;
    const isLast = state.toolless || requested.hasResult;
    calls += 1;
    if (script === "held") while (!state.isOver() && !response.destroyed) await moment();
    if (script === "unavailable" && !state.isOver())
      return answerJson(response, { error: { message: "no" } }, 503);
    if (script === "overflow" && isLast && state.faults === 0) {
      state.faults += 1;
      return answerJson(response, OVERFLOWS[protocol], 400);
    }
    const turn = turnOf(requested);
    const usage = { input: script === "expensive" ? 100_000 : 1_000, output: 20 };
    const { events, whole } = answerOf(requested, turn, usage, calls);
    if (!requested.stream) return answerJson(response, whole);
    const isCut =
      isLast && (script === "cut-always" || (script === "cut-once" && state.faults === 0));
    if (isCut) state.faults += 1;
    return stream(response, events, isCut ? CUT_AFTER[protocol] : events.length);
  });
  return {
    url,
    play: (model, script, playing = {}) =>
      void states.set(model, { ...HEALTHY, ...playing, script, faults: 0 }),
  };
}

function moment(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
}

function protocolOf(path: string): Protocol | null {
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/responses")) return "responses";
  return /\/messages(\/count_tokens)?(\?|$)/.test(path) ? "messages" : null;
}

/**
 * A command first, where a tool can run it; then text. Agents without tools take the file from the
 * text.
 */
function turnOf({ shell, hasResult }: Requested): Turn {
  if (shell !== null && !hasResult) return shell(`echo ${PROOF.text} > ${PROOF.file}`);
  if (shell !== null) return { kind: "text", text: LAST_TEXT };
  return { kind: "text", text: `${LAST_TEXT}\n\n${PROOF.file}\n\`\`\`\n${PROOF.text}\n\`\`\`\n` };
}

/** Events up to the first half of the text. */
const CUT_AFTER: Readonly<Record<Protocol, number>> = { chat: 2, responses: 4, messages: 3 };

function stream(response: ServerResponse, events: readonly string[], count: number): void {
  startSse(response);
  const bytes = events.slice(0, count).join("");
  if (count === events.length) response.end(bytes);
  // Without this wait the reset would overtake what was written.
  else response.write(bytes, () => setTimeout(() => response.destroy(), 50));
}

/** What the vendors say of a conversation that is longer than the model reads. */
const OVERFLOWS: Readonly<Record<Protocol, object>> = {
  chat: {
    error: {
      message:
        "This model's maximum context length is 400000 tokens. However, your messages resulted in 400001 tokens.",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  },
  responses: {
    error: {
      message:
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
      type: "invalid_request_error",
      param: "input",
      code: "context_length_exceeded",
    },
  },
  messages: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "prompt is too long: 200001 tokens > 200000 maximum",
    },
  },
};
