import { crc32 } from "node:zlib";
import type { Framing, StreamEvent } from "../answer.ts";

/** Event streams of AWS: binary frames with two checksums each. */
export const EVENT_STREAM: Framing = {
  contentType: "application/vnd.amazon.eventstream",
  encode: encodeFrame,
};

/** The type of header values that are text. */
const TEXT = 7;

function encodeFrame({ name, data, purpose }: StreamEvent): Buffer {
  const kind = purpose === "error" ? "exception" : "event";
  const headers = Buffer.concat([
    header(`:${kind}-type`, name ?? ""),
    header(":content-type", "application/json"),
    header(":message-type", kind),
  ]);
  const payload = Buffer.from(data);
  const lengths = numbers(headers.length + payload.length + 16, headers.length);
  const checked = Buffer.concat([lengths, numbers(crc32(lengths)), headers, payload]);
  return Buffer.concat([checked, numbers(crc32(checked))]);
}

function header(name: string, value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([TEXT, bytes.length >> 8, bytes.length & 0xff]),
    bytes,
  ]);
}

/** Numbers of four bytes, the highest first. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}
