import { EventStreamCodec } from "@smithy/eventstream-codec";
import type { JsonValue } from "../../../src/canon/json.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The maintained codec: what it writes is what the provider writes. */
export const codec = new EventStreamCodec(
  (bytes) => decoder.decode(typeof bytes === "string" ? encoder.encode(bytes) : bytes),
  (text) => encoder.encode(text),
);

/** A frame with headers of text and a payload of JSON. */
export function encodeFrame(
  headers: Readonly<Record<string, string>>,
  payload: JsonValue,
): Uint8Array {
  return codec.encode({
    headers: Object.fromEntries(
      Object.entries({ ...headers, ":content-type": "application/json" }).map(([name, value]) => [
        name,
        { type: "string" as const, value },
      ]),
    ),
    body: encoder.encode(JSON.stringify(payload)),
  });
}
