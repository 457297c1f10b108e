import type {
  AssistantPart,
  CacheMark,
  FilePart,
  ImagePart,
  InputPart,
  TextPart,
  ToolResult,
  Turn,
} from "../../../canon/generate/message.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { Members } from "../../members.ts";
import { isSummary, readSigned, redactedSignature } from "../signed-reasoning.ts";
import { textToBase64 } from "../../../canon/json/text-base64.ts";

/** The system text and the messages, in their order. Tool results become turns of their own. */
export function readTurns(body: Members): readonly Turn[] {
  const turns: Turn[] = [];
  const system = readTexts(body, "system");
  if (system.length > 0) turns.push({ role: "system", authority: "system", content: system });
  for (const message of body.objects("messages")) {
    switch (message.word("role", ["user", "assistant", "system"])) {
      case "system":
        turns.push({ role: "system", authority: "system", content: readTexts(message, "content") });
        break;
      case "assistant":
        turns.push({ role: "assistant", name: null, content: readAssistant(message) });
        break;
      case "user":
        readUser(message, turns);
        break;
      case null:
        break;
    }
    message.close();
  }
  return turns;
}

/** The mark of a block, a result or a tool. */
export function cacheMark(members: Members): CacheMark | null {
  const mark = members.take("cache_control");
  if (!isJsonObject(mark)) return null;
  const { ttl } = mark;
  return { ttl: ttl === "5m" || ttl === "1h" ? ttl : null };
}

/** A member that is a text or a list of text blocks; none where it is empty. */
function readTexts(members: Members, name: string): readonly TextPart[] {
  const value = members.take(name);
  if (typeof value === "string") return value === "" ? [] : [plainText(value)];
  return members.objects(name).map((block) => {
    block.take("type");
    return closed(block, readText(block));
  });
}

function readText(block: Members): TextPart {
  if (block.list("citations").length > 0) block.ledger.lose("citations_dropped");
  return { kind: "text", text: block.text("text") ?? "", cache: cacheMark(block) };
}

function readUser(message: Members, turns: Turn[]): void {
  const content = message.take("content");
  if (typeof content === "string") {
    turns.push({ role: "user", name: null, content: [plainText(content)] });
    return;
  }
  let parts: InputPart[] = [];
  let results: ToolResult[] = [];
  const flush = (): void => {
    if (results.length > 0) turns.push({ role: "tool", results });
    if (parts.length > 0) turns.push({ role: "user", name: null, content: parts });
    results = [];
    parts = [];
  };
  const blocks = message.objects("content");
  if (blocks.length === 0) message.ledger.lose("empty_text_dropped");
  for (const block of blocks) {
    const result = block.take("type") === "tool_result";
    // Each list holds what stands together; the other kind begins anew.
    if (result ? parts.length > 0 : results.length > 0) flush();
    if (result) results.push(closed(block, readResult(block)));
    else parts.push(closed(block, readInput(block)));
  }
  flush();
}

function readInput(block: Members): TextPart | ImagePart | FilePart {
  switch (block.text("type") ?? "") {
    case "image":
      return readImage(block);
    case "document":
      return readDocument(block);
    default:
      return readText(block);
  }
}

function readImage(block: Members): ImagePart {
  const source = block.object("source");
  source?.take("type");
  const url = source?.text("url") ?? null;
  const mediaType = source?.text("media_type") ?? "";
  const data = source?.text("data") ?? "";
  source?.close();
  return {
    kind: "image",
    source: url === null ? { kind: "base64", mediaType, data } : { kind: "url", url },
    detail: null,
    cache: cacheMark(block),
  };
}

function readDocument(block: Members): FilePart {
  const source = block.object("source");
  const type = source?.text("type") ?? null;
  const url = source?.text("url") ?? null;
  const mediaType = source?.text("media_type") ?? "text/plain";
  const data = source?.text("data") ?? "";
  source?.close();
  // Off, or it would be native: nothing is lost.
  block.take("citations");
  return {
    kind: "file",
    source:
      url === null
        ? { kind: "base64", mediaType, data: type === "text" ? textToBase64(data) : data }
        : { kind: "url", url },
    name: block.text("title"),
    cache: cacheMark(block),
  };
}

function readResult(block: Members): ToolResult {
  const content = block.take("content");
  return {
    callId: block.text("tool_use_id") ?? "",
    content:
      typeof content === "string"
        ? [plainText(content)]
        : block.objects("content").map((part) => closed(part, readInput(part))),
    isError: block.flag("is_error"),
    cache: cacheMark(block),
  };
}

function readAssistant(message: Members): readonly AssistantPart[] {
  const content = message.take("content");
  if (typeof content === "string") return [plainText(content)];
  return message.objects("content").map((block) => closed(block, readSaid(block)));
}

function readSaid(block: Members): AssistantPart {
  switch (block.text("type") ?? "") {
    case "thinking": {
      const signature = block.text("signature");
      const signed = readSigned(signature);
      return {
        kind: "reasoning",
        text: block.text("thinking") ?? "",
        summary: isSummary(signature),
        signature: signed?.signature ?? null,
        family: signed?.family ?? null,
      };
    }
    case "redacted_thinking": {
      const signed = readSigned(block.text("data"));
      return {
        kind: "reasoning",
        text: "",
        summary: false,
        signature: signed === null ? null : redactedSignature(signed.signature),
        family: signed?.family ?? null,
      };
    }
    case "tool_use": {
      block.take("caller");
      return {
        kind: "tool_call",
        id: block.text("id") ?? "",
        name: block.text("name") ?? "",
        arguments: JSON.stringify(block.whole("input") ?? {}),
        cache: cacheMark(block),
      };
    }
    default:
      return readText(block);
  }
}

function plainText(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

/** Notices what of a block nobody has read. */
function closed<Part>(block: Members, part: Part): Part {
  block.close();
  return part;
}
