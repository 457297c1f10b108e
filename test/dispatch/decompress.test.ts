import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createGzip, constants } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { decompressorFor } from "../../src/dispatch/provider-call.ts";

interface Heard {
  readonly chunks: Uint8Array[];
  ended: number;
  broken: number;
}

function listen(encoding: string): {
  readonly heard: Heard;
  readonly machine: ReturnType<typeof decompressorFor>;
} {
  const heard: Heard = { chunks: [], ended: 0, broken: 0 };
  const machine = decompressorFor(encoding, {
    data: (chunk) => void heard.chunks.push(chunk),
    end: () => (heard.ended += 1),
    broken: () => (heard.broken += 1),
  });
  return { heard, machine };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 30));
const text = (heard: Heard) => Buffer.concat(heard.chunks).toString();

describe("compressed answers", () => {
  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const)("are read: %s", async (encoding, compress) => {
    const { heard, machine } = listen(encoding);
    for (const byte of compress("äöü and more")) machine?.write(new Uint8Array([byte]));
    machine?.end();
    await vi.waitFor(() => expect(heard.ended + heard.broken).toBe(1), 5_000);
    expect(text(heard)).toBe("äöü and more");
    expect(heard).toMatchObject({ ended: 1, broken: 0 });
  });

  it("are decompressed event by event, before the stream ends", async () => {
    const { heard, machine } = listen("gzip");
    const sender = createGzip();
    sender.on("data", (chunk: Uint8Array) => machine?.write(chunk));
    sender.write("data: 1\n\n");
    sender.flush(constants.Z_SYNC_FLUSH);
    await expect.poll(() => text(heard)).toBe("data: 1\n\n");
    machine?.destroy();
  });

  it("end where they are cut, so that their own protocol judges them", async () => {
    const { heard, machine } = listen("gzip");
    const whole = gzipSync("data: 1\n\n".repeat(50));
    machine?.write(whole.subarray(0, whole.length - 8));
    machine?.end();
    await settled();
    expect(heard).toMatchObject({ ended: 1, broken: 0 });
  });

  it("fail where the bytes do not match content-encoding", async () => {
    const { heard, machine } = listen("gzip");
    machine?.write(new TextEncoder().encode("plain text"));
    await settled();
    expect(heard).toMatchObject({ ended: 0, broken: 1 });
  });

  it.each(["identity", "", " Identity "])("are left alone without an encoding: %j", (encoding) => {
    expect(listen(encoding).machine).toBeNull();
  });

  it.each(["zstd", "gzip, br", "compress"])(
    "are refused in an encoding that was not requested: %s",
    (encoding) => {
      expect(listen(encoding).machine).toBeUndefined();
    },
  );
});
