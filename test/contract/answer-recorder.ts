import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { EXAMPLE_DIGEST, EXAMPLE_ETAG, EXAMPLE_KEY } from "../../src/http/contract/openapi.ts";
import type { Answered } from "./contract.ts";

const PATH = resolve(import.meta.dirname, "../../src/http/contract/recorded-answers.json");

/** The first whole answer and the first stream of each endpoint, as examples for the contract. */
export class AnswerRecorder {
  readonly #answers: Record<string, { answer?: JsonValue; stream?: string }> = {};

  note(id: string, { headers, text }: Answered): void {
    const type = headers.get("content-type") ?? "";
    const known = (this.#answers[id] ??= {});
    if (type.startsWith("text/event-stream")) known.stream ??= anonymous(text);
    else if (id === "getContract") known.answer ??= OWN_DOCUMENT;
    else if (type.startsWith("application/json"))
      known.answer ??= shortened(JSON.parse(anonymous(text)));
    else known.answer ??= `${anonymous(text).split("\n").slice(0, 3).join("\n")}\n`;
  }

  /**
   * What is written: the same bytes for every run, or everybody who writes the examples anew has a
   * conflict.
   */
  get text(): string {
    return `${JSON.stringify(this.#answers, null, 2)}\n`;
  }

  write(): void {
    writeFileSync(PATH, this.text);
  }
}

/** It cannot hold itself. */
const OWN_DOCUMENT: JsonObject = {
  openapi: "3.1.0",
  info: { title: "Signalbox", version: "1.0.0" },
  paths: {},
  components: {},
};

const EXAMPLE_TIME = "2026-11-22T12:00:00.000Z";

/** Without what is of one request, one key or one moment. */
function anonymous(text: string): string {
  return text
    .replaceAll(/\b(req|dec)_[0-9a-f]{32}\b/g, "$1_0199d2a4f1c04b6a8f0e2d7c915b3a64")
    .replaceAll(
      /\b((?:chatcmpl|cmpl|resp|msg|fc|rs|call)[_-])[0-9a-f]{20,}/g,
      "$10199d2a4f1c04b6a8f0e2d7c",
    )
    .replaceAll(/\b(rerank_)[0-9a-f]{32}\b/g, "$10199d2a4f1c04b6a8f0e2d7c915b3a64")
    .replaceAll(/("created(?:_at)?":)\d{10}\b/g, "$11767225600")
    .replaceAll("0.0.0-test", "0.2.0+3f9c2a7b61d0")
    .replaceAll(/sbx_([a-z0-9]+)_([0-9A-Za-z]+)_[0-9A-Za-z]+/g, `sbx_$1_${EXAMPLE_KEY}_…`)
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "eyJhbGciOiJFZERTQSJ9.….…")
    .replaceAll(
      /"(id|rotated_from|replaced_by|created_by|key|key_id|keyId|origin|first_id|last_id)":"(key:)?[0-9A-Za-z]{12,40}"/g,
      `"$1":"$2${EXAMPLE_KEY}"`,
    )
    .replaceAll(/"token_id":"[\w-]{12,40}"/g, `"token_id":"${EXAMPLE_KEY}"`)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, EXAMPLE_TIME)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, EXAMPLE_TIME.replace(".000", ""))
    .replaceAll(/"\d{4}-\d\d-\d\d"/g, JSON.stringify(EXAMPLE_TIME.slice(0, 10)))
    .replaceAll(/("at":)\d{13}\b/g, `$1${Date.parse(EXAMPLE_TIME)}`)
    .replaceAll(/"p(50|90|95|99)":[\d.]+/g, '"p$1":$1.25')
    .replaceAll(/"(total|duration|first_byte|router)_ms":[\d.]+/g, '"$1_ms":1.25')
    .replaceAll(/("(?:recent|age_ms)":)[\d.]+/g, (_, name: string) => `${name}250`)
    .replaceAll(/("uptime_seconds":)\d+/g, (_, name: string) => `${name}3600`)
    .replaceAll(/\b[0-9a-f]{64}\b/g, EXAMPLE_DIGEST)
    .replaceAll(/\\"[0-9a-f]{16}\\"/g, JSON.stringify(EXAMPLE_ETAG).slice(1, -1));
}

const MOST_ITEMS = 2;
const MOST_NUMBERS = 3;
const MOST_CHARACTERS = 240;

function shortened(value: JsonValue): JsonValue {
  if (typeof value === "string")
    return value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value;
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    const most = items.every((item) => isJsonObject(item))
      ? MOST_ITEMS
      : typeof items[0] === "number"
        ? MOST_NUMBERS
        : items.length;
    return items.slice(0, most).map(shortened);
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, shortened(member ?? null)]),
  );
}
