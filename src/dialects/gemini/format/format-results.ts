import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { ToolResult, Turn } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { dropMark, type Draft } from "./draft.ts";
import { formatData } from "./format-parts.ts";

/** The calls that results may answer, by id: the protocol wants their names, and clients do not send them along. */
export class OpenCalls {
  /** Id → name and place; ids may come again in later answers, whose calls then are meant. */
  readonly #calls = new Map<string, { readonly name: string; readonly place: number }>();

  note(turn: Turn): void {
    if (turn.role !== "assistant") return;
    for (const part of turn.content) {
      if (part.kind === "tool_call") this.#calls.set(part.id, { name: part.name, place: this.#calls.size });
    }
  }

  name(id: string): string | null {
    return this.#calls.get(id)?.name ?? null;
  }

  /** Order of the calls: without ids, results are told apart by it alone. */
  place(id: string): number {
    return this.#calls.get(id)?.place ?? 0;
  }
}

/** The results of tools as parts of one user turn; the error is for a result that answers no call. */
export function formatResults(
  results: readonly ToolResult[],
  calls: OpenCalls,
  withIds: boolean,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const ordered = withIds
    ? results
    : results.toSorted((left, right) => calls.place(left.callId) - calls.place(right.callId));
  const parts: JsonObject[] = [];
  for (const result of ordered) {
    const name = calls.name(result.callId);
    if (name === null) {
      return invalidRequest(
        "unknown_tool_call",
        "A tool result answers no tool call of the conversation; an endpoint that may get the request needs the name of the function, which is in the call",
      );
    }
    parts.push({
      functionResponse: { ...(withIds ? { id: result.callId } : {}), name, ...formatResult(result, draft) },
    });
  }
  return parts;
}

/** `output` and `error` are the members that models are told of; files stand beside them. */
function formatResult({ content, isError, cache }: ToolResult, draft: Draft): JsonObject {
  dropMark(cache, draft);
  const texts: string[] = [];
  const files: JsonObject[] = [];
  for (const part of content) {
    if (part.kind !== "text") {
      files.push(formatData(part, draft));
      continue;
    }
    dropMark(part.cache, draft);
    texts.push(part.text);
  }
  if (files.length > 0 && texts.length > 0) draft.dropped.add("result_files_apart");
  const said = texts.length === 1 ? texts[0] : texts;
  const member = isError === true ? "error" : "output";
  return {
    response: texts.length === 0 && isError !== true ? {} : { [member]: said },
    ...(files.length === 0 ? {} : { parts: files }),
  };
}
