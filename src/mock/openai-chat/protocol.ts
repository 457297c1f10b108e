import { isJsonObject } from "../../canon/json.ts";
import type { Answer } from "../answer.ts";
import { PLAIN, type Behaviour } from "../behaviour.ts";
import { complete, type CompletionTask } from "../completion.ts";
import { CREATED, renderChat } from "./render.ts";
import { readChatRequest, type ChatRequest } from "./request.ts";
import type { Tool } from "./tools.ts";
import { errorAnswer, invalid, statusAnswer, STREAM_FAILURE, type Problem } from "../openai-error.ts";
import type { Exchange, Protocol, Reply } from "../protocol.ts";
import { valueFor } from "../schema-value.ts";
import { headerWords, modelWords, parseBehaviour } from "../words.ts";

/** OpenAI's chat completions. */
export const openaiChat: Protocol = {
  answer,
  refuse: (status, message) => errorAnswer({ status, message, param: null, code: null }),
  failure: STREAM_FAILURE,
};

/** OpenAI's list of models. Any other name is served as well. */
export const openaiModels: Protocol = {
  ...openaiChat,
  answer: () => ({
    answer: { kind: "json", status: 200, headers: {}, body: MODELS },
    behaviour: PLAIN,
  }),
};

const MODELS = JSON.stringify({
  object: "list",
  data: ["mock-small", "mock-large"].map((id) => ({
    id,
    object: "model",
    created: CREATED,
    owned_by: "signalbox-mock",
  })),
});

function answer(exchange: Exchange): Reply {
  const { body } = exchange;
  if (!isJsonObject(body)) return refusal(invalid(null, "The body must be a JSON object."));
  const model = typeof body["model"] === "string" ? body["model"] : "";
  const { base, words } = modelWords(model);
  const parsed = parseBehaviour([...words, ...headerWords(exchange.header("x-mock"))]);
  if ("problem" in parsed) return refusal(invalid(words.length > 0 ? "model" : null, parsed.problem, "mock_behaviour"));
  const behaviour = exchange.inForce(parsed.behaviour, model);
  if (behaviour.requireAuth && !/^Bearer .+/i.test(exchange.header("authorization"))) {
    return refusal({
      status: 401,
      message: "Send a key as 'authorization: Bearer …'.",
      param: null,
      code: "invalid_api_key",
    });
  }
  if (behaviour.status !== null) return { answer: statusAnswer(behaviour.status, behaviour.retryAfter), behaviour };
  const request = readChatRequest(body, behaviour.lenient);
  if ("status" in request) return refusal(request);
  const answered = completed(exchange.sequence, { base, model }, request, behaviour);
  return "kind" in answered ? { answer: answered, behaviour } : refusal(answered);
}

/** A refusal is played without faults: whoever made the mistake has to be able to read it. */
function refusal(problem: Problem): Reply {
  return { answer: errorAnswer(problem), behaviour: PLAIN };
}

function completed(
  sequence: number,
  names: { readonly base: string; readonly model: string },
  request: ChatRequest,
  behaviour: Behaviour,
): Answer | Problem {
  const called = toolsToCall(request, behaviour);
  const calls: string[] = [];
  for (const tool of called) {
    const made = tool.type === "custom" ? { json: "simulated input", satisfied: true } : valueFor(tool.parameters);
    // Without `strict`, providers promise no valid arguments either.
    if (!made.satisfied && tool.strict) return unsatisfiable("tools", `the parameters of the tool '${tool.name}'`);
    calls.push(made.json);
  }
  const structured = request.schema === null ? null : valueFor(request.schema);
  if (structured?.satisfied === false) return unsatisfiable("response_format", "'response_format.json_schema.schema'");
  const { conversation } = request;
  const subject = conversation.endsWithToolResult
    ? "the result of a tool"
    : `${conversation.messages} message${conversation.messages === 1 ? "" : "s"}`;
  // A structured answer keeps to its schema; filler in its place would not even be JSON.
  const wording = structured === null ? behaviour : { ...behaviour, chunks: null, size: null };
  const completions = Array.from({ length: request.choices }, (_, choice) => {
    const which = request.choices === 1 ? "" : ` ${choice + 1} of ${request.choices}`;
    const task: CompletionTask = {
      text: structured?.json ?? `Simulated answer${which} from ${names.base} to ${subject}.`,
      calls,
      limit: request.limit,
      stop: request.stop,
      reasoning: request.reasoning,
    };
    return complete(task, wording);
  });
  return renderChat({ sequence, model: names.model, request, called, completions }, behaviour);
}

function unsatisfiable(param: string, what: string): Problem {
  return invalid(
    param,
    `The simulated provider cannot make a value for ${what}; use simpler keywords, or leave 'strict' out.`,
  );
}

/** A tool is called where there is one, except after the result of a tool: so a tool loop ends after one round. */
function toolsToCall(request: ChatRequest, behaviour: Behaviour): readonly Tool[] {
  const { callable, required, parallel } = request.tools;
  const natural = callable.length > 0 && (required || !request.conversation.endsWithToolResult) ? 1 : 0;
  const wanted = callable.length === 0 ? 0 : (behaviour.toolCalls ?? natural);
  const count = parallel ? wanted : Math.min(wanted, 1);
  return Array.from({ length: count }, (_, index) => callable[index % callable.length]).filter(
    (tool) => tool !== undefined,
  );
}
