import fc from "fast-check";
import type { Feature } from "../../../../src/canon/capability.ts";
import type {
  AssistantPart,
  AssistantTurn,
  CacheMark,
  FilePart,
  ImagePart,
  InputPart,
  SystemTurn,
  TextPart,
  ToolCallPart,
  ToolTurn,
  Turn,
  UserTurn,
} from "../../../../src/canon/generate/generate-request.ts";
import type { Target } from "../../../../src/dialects/dialect.ts";

/** Text with characters of every length in UTF-8; never empty, which is a matter of its own. */
export const someText = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });

const PDF = Buffer.from("%PDF-1.7 not really").toString("base64");
const PIXELS = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0]).toString("base64");
const NOTE = Buffer.from("plain – text").toString("base64");

/** What a request may require of a target: the names that the decision compares. */
export interface Allowed {
  readonly has: (feature: Feature) => boolean;
  readonly can: (capability: Target["endpoint"]["capabilities"][number]) => boolean;
  /** Who signs this target's reasoning; `null` where the protocol's history cannot carry it. */
  readonly family: string | null;
}

export function allowedAt({ endpoint, model }: Target): Allowed {
  const features = new Set<string>(endpoint.features);
  const capabilities = new Set<string>(endpoint.capabilities);
  return {
    has: (feature) => features.has(feature),
    can: (capability) => capabilities.has(capability),
    family: features.has("signed_reasoning") ? model.signatureFamily : null,
  };
}

export const cacheMark: fc.Arbitrary<CacheMark | null> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom<CacheMark>({ ttl: null }, { ttl: "5m" }, { ttl: "1h" }) },
);

/**
 * No turn is empty: protocols differ in what they make of blank text, and their own tests are about
 * that.
 */
const filledText = someText.filter((text) => text.trim() !== "");

const textPart: fc.Arbitrary<TextPart> = fc.record({
  kind: fc.constant("text" as const),
  text: filledText,
  cache: cacheMark,
});

function imagePart(allowed: Allowed): fc.Arbitrary<ImagePart> {
  const byValue = fc.constant({ kind: "base64", mediaType: "image/png", data: PIXELS } as const);
  const byName = fc.constant({ kind: "url", url: "https://images.example/a.png" } as const);
  return fc.record({
    kind: fc.constant("image" as const),
    source: allowed.has("image_url") ? fc.oneof(byValue, byName) : byValue,
    detail: allowed.has("image_detail")
      ? fc.constantFrom(null, "auto", "low", "high")
      : fc.constantFrom(null, "auto"),
    cache: cacheMark,
  });
}

function filePart(allowed: Allowed): fc.Arbitrary<FilePart> {
  const values: { kind: "base64"; mediaType: string; data: string }[] = [
    { kind: "base64", mediaType: "application/pdf", data: PDF },
    { kind: "base64", mediaType: "text/plain", data: NOTE },
  ];
  if (allowed.has("file_of_other_type"))
    values.push({ kind: "base64", mediaType: "text/csv", data: NOTE });
  const byValue = fc.constantFrom(...values);
  const byName = fc.constant({ kind: "url", url: "https://files.example/a.pdf" } as const);
  return fc.record({
    kind: fc.constant("file" as const),
    source: allowed.has("file_url") ? fc.oneof(byValue, byName) : byValue,
    name: fc.constantFrom(null, "report.pdf"),
    cache: cacheMark,
  });
}

function inputPart(allowed: Allowed): fc.Arbitrary<InputPart> {
  const parts: fc.Arbitrary<InputPart>[] = [textPart, textPart];
  if (allowed.can("image_input")) parts.push(imagePart(allowed));
  if (allowed.can("file_input")) parts.push(filePart(allowed));
  if (allowed.can("audio_input")) {
    parts.push(
      fc
        .constantFrom("wav", "mp3")
        .map((format) => ({ kind: "audio", format, data: NOTE }) as const),
    );
  }
  return fc.oneof(...parts);
}

function userTurn(allowed: Allowed): fc.Arbitrary<UserTurn> {
  return fc.record({
    role: fc.constant("user" as const),
    name: fc.constantFrom(null, null, "ann"),
    content: fc.array(inputPart(allowed), { minLength: 1, maxLength: 3 }),
  });
}

const systemTurn: fc.Arbitrary<SystemTurn> = fc.record({
  role: fc.constant("system" as const),
  authority: fc.constantFrom("system", "developer"),
  content: fc.array(textPart, { minLength: 1, maxLength: 2 }),
});

/** What the assistant said, in the order that every protocol keeps: thought, text or refusal. */
function said(allowed: Allowed): fc.Arbitrary<readonly AssistantPart[]> {
  const { family } = allowed;
  const signature = fc.base64String({ minLength: 8, maxLength: 24 });
  const thought: fc.Arbitrary<AssistantPart> =
    family === null
      ? fc.record({
          kind: fc.constant("reasoning" as const),
          text: filledText,
          summary: fc.boolean(),
          signature: fc.constant(null),
          family: fc.constant(null),
        })
      : fc.record({
          kind: fc.constant("reasoning" as const),
          text: fc.oneof(fc.constant(""), filledText),
          summary: fc.constant(false),
          signature,
          family: fc.constant(family),
        });
  const text: fc.Arbitrary<AssistantPart> = fc.oneof(
    { weight: 4, arbitrary: textPart },
    { weight: 1, arbitrary: filledText.map((no) => ({ kind: "refusal", text: no }) as const) },
  );
  return fc
    .tuple(fc.array(thought, { maxLength: 2 }), fc.array(text, { minLength: 1, maxLength: 2 }))
    .map(([thoughts, texts]) => [...thoughts, ...texts]);
}

const toolArguments = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

interface Call {
  readonly id: string;
  readonly name: string;
  readonly json: string;
  readonly cache: CacheMark | null;
  readonly results: ToolTurn["results"][number];
}

function calls(allowed: Allowed): fc.Arbitrary<readonly Call[]> {
  if (!allowed.can("tools")) return fc.constant([]);
  const withFiles = allowed.has("tool_result_files") && allowed.can("image_input");
  const part: fc.Arbitrary<TextPart | ImagePart> = withFiles
    ? fc.oneof(textPart, imagePart(allowed))
    : textPart;
  return fc.array(
    fc
      .record({
        name: fc.constantFrom("look_up", "send"),
        json: toolArguments,
        cache: cacheMark,
        content: fc.array(part, { minLength: 1, maxLength: 2 }),
        isError: fc.constantFrom(null, false, true),
        mark: cacheMark,
        odd: fc.boolean(),
      })
      .map(({ content, isError, mark, odd, ...call }) => ({
        ...call,
        id: odd ? "call:odd/id" : "call_plain",
        results: { callId: "", content, isError, cache: mark },
      })),
    { maxLength: 2 },
  );
}

/**
 * A conversation that every protocol's API would take: calls are answered at once, and a user or a
 * result stands last.
 */
export function turnsFor(allowed: Allowed): fc.Arbitrary<readonly Turn[]> {
  if (!allowed.has("conversation")) {
    const name = fc.constantFrom(null, "ann");
    return fc
      .record({
        role: fc.constant("user" as const),
        name,
        content: fc.array(textPart, { minLength: 1, maxLength: 2 }),
      })
      .map((turn) => [turn]);
  }
  const exchange = fc.record({
    system: allowed.has("mid_conversation_system")
      ? fc.option(systemTurn, { freq: 6 })
      : fc.constant(null),
    user: userTurn(allowed),
    answer: fc.option(said(allowed)),
    calls: calls(allowed),
  });
  return fc
    .record({
      leading: fc.array(systemTurn, { maxLength: 2 }),
      exchanges: fc.array(exchange, { maxLength: 3 }),
      last: fc.option(userTurn(allowed)),
      first: userTurn(allowed),
    })
    .map(({ leading, exchanges, last, first }) => {
      const turns: Turn[] = [...leading];
      let number = 0;
      for (const [index, exchanged] of exchanges.entries()) {
        turns.push(exchanged.user);
        if (index > 0 && exchanged.system !== null) turns.push(exchanged.system);
        const called = exchanged.calls.map((call) => ({
          ...call,
          id: `${call.id}_${(number += 1)}`,
        }));
        const parts = called.map(({ id, name, json, cache: mark }): ToolCallPart => ({
          kind: "tool_call",
          id,
          name,
          arguments: json,
          cache: mark,
        }));
        const content = [...(exchanged.answer ?? []), ...parts];
        if (content.length > 0)
          turns.push({ role: "assistant", name: null, content } satisfies AssistantTurn);
        if (called.length > 0)
          turns.push({
            role: "tool",
            results: called.map(({ id, results }) => ({ ...results, callId: id })),
          });
      }
      if (last !== null) turns.push(last);
      return turns.at(-1)?.role === "user" || turns.at(-1)?.role === "tool"
        ? turns
        : [...turns, first];
    });
}
