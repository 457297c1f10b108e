/** What is measured. Counts are for one run; `--quick` takes a fifth of them. */
export interface Case {
  readonly name: string;
  readonly title: string;
  /** Name of the model upstream; the upstream distinguishes the cases by it. */
  readonly model: string;
  readonly kind: "chat" | "stream" | "vectors" | "base64-vectors";
  /** Bytes of text in the request and in the answer. */
  readonly size: number;
  /**
   * Requests of the closed loop: enough for a second of work, so that a tick of the CPU clock (10
   * ms) is an error of one in a hundred.
   */
  readonly requests: number;
  /**
   * Requests a second of the open loop: far below what any of the subjects can do, so that latency
   * and not queueing is measured.
   */
  readonly rate: number;
}

export const CASES: readonly Case[] = [
  {
    name: "chat-1k",
    title: "1 kB chat",
    model: "bench-chat-1k",
    kind: "chat",
    size: 1_000,
    requests: 20_000,
    rate: 200,
  },
  {
    name: "chat-20k",
    title: "20 kB chat",
    model: "bench-chat-20k",
    kind: "chat",
    size: 20_000,
    requests: 10_000,
    rate: 200,
  },
  {
    name: "stream-100",
    title: "stream of 100 chunks",
    model: "bench-stream-100",
    kind: "stream",
    size: 1_000,
    requests: 800,
    rate: 50,
  },
  {
    name: "vectors-1m",
    title: "1 MB of vectors as numbers",
    model: "bench-vectors-1m",
    kind: "vectors",
    size: 1_000_000,
    requests: 500,
    rate: 20,
  },
  {
    name: "base64-1m",
    title: "1 MB of vectors as base64",
    model: "bench-base64-1m",
    kind: "base64-vectors",
    size: 1_000_000,
    requests: 800,
    rate: 20,
  },
];

/** Path of a case's requests. */
export function pathOf({ kind }: Case): string {
  return isVectors(kind) ? "/v1/embeddings" : "/v1/chat/completions";
}

export function isVectors(kind: Case["kind"]): boolean {
  return kind === "vectors" || kind === "base64-vectors";
}

/** Numbers in a vector of the benchmark. */
export const DIMENSION = 1_536;

/** How many vectors make an answer of a case's size. */
export function vectorCount({ kind, size }: Case): number {
  const bytes = kind === "vectors" ? DIMENSION * 13 : (DIMENSION * 4 * 4) / 3;
  return Math.ceil(size / bytes);
}

/**
 * Requests under way at the same time in the closed loop: enough to keep a subject busy although
 * each of its answers waits for a disk, as an answer with a durable decision does.
 */
export const CONCURRENCY = 64;

/** Events with text in a streamed answer. */
export const CHUNKS = 100;

/** Text of a given length, free of anything that JSON would escape. */
export function filler(size: number): string {
  return "signal block clear points set route locked train passed line "
    .repeat(Math.ceil(size / 61))
    .slice(0, size);
}

export function requestBody(testCase: Case): string {
  if (isVectors(testCase.kind)) {
    const input = Array.from(
      { length: vectorCount(testCase) },
      (_, index) => `${index} ${filler(60)}`,
    );
    const encoding = testCase.kind === "vectors" ? "float" : "base64";
    return JSON.stringify({ model: testCase.model, input, encoding_format: encoding });
  }
  const messages = [{ role: "user", content: filler(testCase.size) }];
  const { model, kind } = testCase;
  return JSON.stringify(
    kind === "stream"
      ? { model, messages, stream: true, stream_options: { include_usage: true } }
      : { model, messages },
  );
}
