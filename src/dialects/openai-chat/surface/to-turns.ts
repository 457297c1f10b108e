import { invalidRequest } from "../../../canon/error.ts";
import type {
  AssistantPart,
  FilePart,
  ImagePart,
  InputPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../../canon/generate/message.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { isDeeperThan, MAXIMUM_DEPTH, parseExactJsonText } from "../../json-bytes.ts";
import type { Members } from "../../members.ts";
import { readDataUrl } from "../../translation/data-url.ts";
import { isPieceName } from "../reasoning-details.ts";
import { wordOfRole } from "./ask-messages.ts";
import { readReasoningHistory } from "./reasoning-history.ts";

/** The body's messages as turns; tool messages that follow each other are one turn's results. */
export function messagesToTurns(body: Members): readonly Turn[] {
  const turns: Turn[] = [];
  /** Results of the turn that is last; `null` where another kind of turn is. */
  let results: ToolResult[] | null = null;
  for (const message of body.objects("messages")) {
    const role = wordOfRole(message.take("role"));
    switch (role) {
      case "system":
        if (message.text("name") !== null) message.ledger.lose("participant_name_dropped");
        turns.push({
          role,
          authority: message.take("role") === "developer" ? "developer" : "system",
          content: textsOf(message),
        });
        break;
      case "user":
        turns.push({ role, name: message.text("name"), content: inputsOf(message) });
        break;
      case "assistant":
        turns.push({ role, name: message.text("name"), content: assistantPartsOf(message) });
        break;
      case "tool": {
        if (results === null) turns.push({ role, results: (results = []) });
        results.push(toolResultOf(message));
        break;
      }
      case null:
        message.refuse("role", "invalid_value", "must be developer, system, user, assistant or tool");
    }
    if (role !== "tool") results = null;
    message.close();
  }
  return turns;
}

function textPart(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

/** Text, or a list of text parts. */
function textsOf(message: Members): readonly TextPart[] {
  const content = message.take("content");
  if (typeof content === "string") return [textPart(content)];
  return message.objects("content").map((part) => {
    part.word("type", ["text"]);
    const text = part.text("text") ?? "";
    part.close();
    return textPart(text);
  });
}

function inputsOf(message: Members): readonly InputPart[] {
  const content = message.take("content");
  if (typeof content === "string") return [textPart(content)];
  return message.objects("content").flatMap((part) => {
    const made = inputOf(part);
    part.close();
    return made ?? [];
  });
}

function inputOf(part: Members): InputPart | null {
  switch (part.word("type", ["text", "image_url", "input_audio", "file"])) {
    case "text":
      return textPart(part.text("text") ?? "");
    case "image_url":
      return imageOf(part.object("image_url"));
    case "input_audio": {
      const audio = part.object("input_audio");
      if (audio === null) return null;
      const made = { kind: "audio", format: audio.text("format") ?? "", data: audio.text("data") ?? "" } as const;
      audio.close();
      return made;
    }
    case "file":
      return fileOf(part.object("file"));
    case null:
      return null;
  }
}

function imageOf(image: Members | null): ImagePart | null {
  if (image === null) return null;
  const url = image.text("url") ?? "";
  const data = readDataUrl(url);
  const made: ImagePart = {
    kind: "image",
    source: data === null ? { kind: "url", url } : { kind: "base64", ...data },
    detail: image.word("detail", ["auto", "low", "high"]),
    cache: null,
  };
  image.close();
  return made;
}

function fileOf(file: Members | null): FilePart | null {
  if (file === null) return null;
  const data = readDataUrl(file.text("file_data") ?? "");
  const name = file.text("filename");
  file.close();
  if (data !== null) return { kind: "file", source: { kind: "base64", ...data }, name, cache: null };
  file.refuse("file_data", "invalid_value", "must be a data URL in base64");
  return null;
}

function assistantPartsOf(message: Members): readonly AssistantPart[] {
  const history: JsonObject = {
    reasoning_content: message.take("reasoning_content"),
    reasoning: message.take("reasoning"),
    reasoning_details: message.take("reasoning_details"),
  };
  const { parts: reasoning, isWhole } = readReasoningHistory(history);
  if (!isWhole) message.ledger.lose("unsigned_reasoning_dropped");
  const details = history["reasoning_details"];
  if (Array.isArray(details) && details.some(isNamed)) message.ledger.lose("item_id_dropped");
  if (message.list("annotations").length > 0) message.ledger.lose("citations_dropped");
  const parts: AssistantPart[] = [...reasoning, ...saidOf(message)];
  const refusal = message.text("refusal");
  if (refusal !== null && refusal !== "") parts.push({ kind: "refusal", text: refusal });
  for (const call of message.objects("tool_calls")) parts.push(toolCallOf(call));
  return parts;
}

function isNamed(detail: JsonValue): boolean {
  if (!isJsonObject(detail)) return false;
  const { index, id } = detail;
  // Names of ours have told the pieces apart; others say nothing here.
  return (index ?? null) !== null || ((id ?? null) !== null && !isPieceName(id));
}

/** Answers that only call tools come back with empty text; it says nothing. */
function saidOf(message: Members): readonly AssistantPart[] {
  const content = message.take("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [textPart(content)];
  return message.objects("content").map((part): AssistantPart => {
    const kind = part.word("type", ["text", "refusal"]);
    const made: AssistantPart =
      kind === "refusal" ? { kind, text: part.text("refusal") ?? "" } : textPart(part.text("text") ?? "");
    part.close();
    return made;
  });
}

function toolCallOf(call: Members): ToolCallPart {
  call.word("type", ["function"]);
  call.drop(["index"], "item_id_dropped");
  const id = call.text("id") ?? "";
  const called = call.object("function");
  const made: ToolCallPart = {
    kind: "tool_call",
    id,
    name: called?.text("name") ?? "",
    arguments: called === null ? "{}" : argumentsOf(called),
    cache: null,
  };
  called?.close();
  call.close();
  return made;
}

/** Other protocols want an object where this one takes any text. */
function argumentsOf(called: Members): string {
  const text = called.text("arguments") ?? "";
  if (text.trim() === "") {
    called.ledger.lose("tool_arguments_normalised");
    return "{}";
  }
  const value = parseExactJsonText(text);
  if (isCallable(value)) return text;
  const path = called.pathOf("arguments");
  const sentence = `${path} must be the text of a JSON object: an endpoint that may get the request takes nothing else`;
  called.ledger.refuse(invalidRequest("invalid_tool_arguments", sentence, path));
  return "{}";
}

function isCallable(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH);
}

function toolResultOf(message: Members): ToolResult {
  if (message.text("name") !== null) message.ledger.lose("participant_name_dropped");
  return { callId: message.text("tool_call_id") ?? "", content: textsOf(message), isError: null, cache: null };
}
