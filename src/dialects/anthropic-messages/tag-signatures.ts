import { relayedSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { NATIVE_FAMILY, SIGNATURE_MEMBERS } from "./signed-reasoning.ts";
import { textOf } from "../json.ts";

/** A whole message with its signatures tagged for the client; the message itself where nothing changes. */
export function tagMessage(message: JsonObject, family: string | null): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const tagged = content.map((block: JsonValue) => (isJsonObject(block) ? tagBlock(block, family) : block));
  return tagged.every((block, index) => block === content[index]) ? message : { ...message, content: tagged };
}

function tagBlock(block: JsonObject, family: string | null): JsonObject {
  const type = textOf(block["type"]);
  const member = Object.hasOwn(SIGNATURE_MEMBERS, type) ? SIGNATURE_MEMBERS[type] : undefined;
  return member === undefined ? block : tagMember(block, member, family);
}

function tagMember(object: JsonObject, member: string, family: string | null): JsonObject {
  const signature = object[member];
  if (typeof signature !== "string") return object;
  const tagged = relayedSignature(signature, family, NATIVE_FAMILY);
  return tagged === signature ? object : { ...object, [member]: tagged };
}

/** Tags the signatures of a stream's events. */
export class EventTagger {
  readonly #family: string | null;
  /** Whether the open block has got its tag: of a signature that comes in pieces, only the first one is tagged. */
  #isTagged = false;

  constructor(family: string | null) {
    this.#family = family;
  }

  /** The event as the client gets it; the event itself where nothing changes. Each event once, in their order. */
  tag(type: JsonValue | undefined, event: JsonObject): JsonObject {
    if (type === "message_start") return withMember(event, "message", (message) => tagMessage(message, this.#family));
    let tagged = event;
    if (type === "content_block_start") {
      tagged = withMember(event, "content_block", (block) => tagBlock(block, this.#family));
    } else if (type !== "content_block_delta" || this.#isTagged) {
      return event;
    } else {
      tagged = withMember(event, "delta", (delta) => this.#tagDelta(delta));
    }
    this.#isTagged = tagged !== event;
    return tagged;
  }

  #tagDelta(delta: JsonObject): JsonObject {
    return delta["type"] === "signature_delta" ? tagMember(delta, "signature", this.#family) : delta;
  }
}

function withMember(event: JsonObject, name: string, change: (value: JsonObject) => JsonObject): JsonObject {
  const value = event[name];
  if (!isJsonObject(value)) return event;
  const changed = change(value);
  return changed === value ? event : { ...event, [name]: changed };
}
