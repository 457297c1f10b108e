import { isJsonObject, type JsonObject } from "./json.ts";
import type { Answer, JsonAnswer } from "./answer.ts";
import {
  PLAIN,
  RESULT_MEMBERS,
  type Behaviour,
  type FinishReason,
  type ResultMember,
} from "./behaviour.ts";
import { invalid, unplayable, type Problem } from "./problem.ts";
import type { Exchange, Protocol, Reply } from "./protocol.ts";
import {
  headerSettings,
  messageSettings,
  modelSettings,
  parseBehaviour,
  settingName,
} from "./settings.ts";

/** One request whose settings have been read. */
export interface Call {
  readonly sequence: number;
  /** Path and query, as they were sent. */
  readonly target: string;
  readonly body: JsonObject;
  /** The model's name without settings. */
  readonly base: string;
  /** As the request names it. */
  readonly model: string;
  readonly behaviour: Behaviour;
  header(name: string): string;
}

/** What an endpoint adds to the machinery that all of them share. */
export interface Simulation extends Pick<Protocol, "refuse" | "failure"> {
  /** The protocol's values of the finish reasons; a reason that is not here is refused. */
  readonly finishes: ReadonlyMap<FinishReason, string>;
  /**
   * Members of a behaviour that the endpoint has no form for. A test that sets them would test
   * nothing, so they are refused.
   */
  readonly lacks: readonly (keyof Behaviour)[];
  /**
   * Members about lists of results that the endpoint does have a form for; without the member,
   * none.
   */
  readonly results?: readonly ResultMember[];
  /** Machine codes of error answers. */
  readonly codes: ReadonlyMap<number, string>;
  /**
   * Where the model is named, unless it is the body's `model`. `target` is {@link Exchange.target}.
   */
  readonly modelIn?: (target: string, body: JsonObject) => string;
  /** The answer to a request without a key, where one is required; `null` where there is one. */
  unauthorised(exchange: Exchange): Problem | null;
  complete(call: Call): Answer | Problem;
}

/**
 * An endpoint that applies the settings of a request, and otherwise answers as the simulation does.
 */
export function protocolOf(simulation: Simulation): Protocol {
  const { refuse, failure, results = [] } = simulation;
  const lacks = [
    ...simulation.lacks,
    ...RESULT_MEMBERS.filter((member) => !results.includes(member)),
  ];
  const complete = { ...simulation, lacks };
  return { refuse, failure, answer: (exchange) => answer(complete, exchange) };
}

function answer(simulation: Simulation, exchange: Exchange): Reply {
  const { body, sequence } = exchange;
  // A refusal is sent without faults: the author of the mistake has to be able to read it.
  const refusal = (problem: Problem): Reply => ({
    answer: simulation.refuse(problem, sequence),
    behaviour: PLAIN,
  });
  if (!isJsonObject(body)) return refusal(invalid(null, "The body must be a JSON object."));
  const named =
    simulation.modelIn === undefined ? body.model : simulation.modelIn(exchange.target, body);
  const model = typeof named === "string" ? named : "";
  const { base, settings } = modelSettings(model);
  const parsed = parseBehaviour([
    ...settings,
    ...headerSettings(exchange.header("x-mock")),
    ...messageSettings(exchange.text, base),
  ]);
  const param = settings.length > 0 ? "model" : null;
  if ("problem" in parsed) return refusal(unplayable(parsed.problem, param));
  const behaviour = exchange.inForce(parsed.behaviour, model);
  const misfit = behaviour === PLAIN ? null : misfitOf(simulation, behaviour);
  if (misfit !== null) return refusal(unplayable(misfit, param));
  const problem = behaviour.requireAuth ? simulation.unauthorised(exchange) : null;
  if (problem !== null) return refusal(problem);
  const { status, retryAfter } = behaviour;
  if (status !== null)
    return { answer: statusAnswer(simulation, { status, retryAfter }, sequence), behaviour };
  const header = (name: string): string => exchange.header(name);
  const answered = simulation.complete({
    sequence,
    target: exchange.target,
    body,
    base,
    model,
    behaviour,
    header,
  });
  return "kind" in answered ? { answer: answered, behaviour } : refusal(answered);
}

/**
 * One sentence about a setting that the endpoint cannot apply; `null` where it can apply all of
 * them.
 */
function misfitOf(simulation: Simulation, behaviour: Behaviour): string | null {
  const lacking = simulation.lacks.find((member) => behaviour[member] !== PLAIN[member]);
  if (lacking !== undefined)
    return `mock: this endpoint has no form for "${settingName(lacking)}"; omit it`;
  const { finish } = behaviour;
  if (finish === null || simulation.finishes.has(finish)) return null;
  return `mock: no answer of this endpoint ends with "finish=${finish}"; it can end with ${[...simulation.finishes.keys()].join(", ")}`;
}

/** An answer with an error status that a test requests. */
export function statusAnswer(
  { refuse, codes }: Pick<Simulation, "refuse" | "codes">,
  { status, retryAfter }: { readonly status: number; readonly retryAfter: number | null },
  sequence: number,
): JsonAnswer {
  const message = `Simulated answer with status ${status}.`;
  const made = refuse({ status, message, param: null, code: codes.get(status) ?? null }, sequence);
  const headers: Record<string, string> = { ...made.headers };
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter);
  // A redirect that is followed shows as a second request, to a path that no other request has.
  if (status < 400) headers.location = "/mock/redirected";
  return { ...made, headers };
}

/** The model that a path names, which a pattern captures. */
export function modelInPath(target: string, pattern: RegExp): string {
  const written = pattern.exec(target)?.[1] ?? "";
  try {
    return decodeURIComponent(written);
  } catch {
    // A stray percent sign: the name is what it looks like.
    return written;
  }
}
