import { parentPort, workerData } from "node:worker_threads";
import { readArtefact } from "./artefact.ts";
import { type Run, type RunResult, ToolchainError } from "./protocol.ts";
import { loadWasi } from "./wasi.ts";

/**
 * Runs the toolchain: `workerData` is the artefact's folder; each message is a {@link Run}, each
 * answer a {@link RunResult}.
 */

const STANDARD_INPUT = 0;
const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
const SUCCESS = 0;
const BAD_FILE_DESCRIPTOR = 8;

/** Standard streams in memory: nothing is written to a disk, so a read-only file system will do. */
class Streams {
  #memory: WebAssembly.Memory | null = null;
  readonly #input: Uint8Array;
  #read = 0;
  readonly #output: Uint8Array[] = [];

  constructor(input: Uint8Array) {
    this.#input = input;
  }

  use(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }

  /** WASI `fd_read`: fills the buffers from the input; no bytes mean that it has ended. */
  readonly fdRead = (
    descriptor: number,
    vectors: number,
    count: number,
    readAt: number,
  ): number => {
    if (descriptor !== STANDARD_INPUT) return BAD_FILE_DESCRIPTOR;
    let total = 0;
    for (const buffer of this.#buffers(vectors, count)) {
      const piece = this.#input.subarray(this.#read, this.#read + buffer.length);
      buffer.set(piece);
      this.#read += piece.length;
      total += piece.length;
    }
    this.#view().setUint32(readAt, total, true);
    return SUCCESS;
  };

  /**
   * WASI `fd_write`: keeps standard output. Standard error is dropped: a crash report would quote
   * policies.
   */
  readonly fdWrite = (
    descriptor: number,
    vectors: number,
    count: number,
    writtenAt: number,
  ): number => {
    if (descriptor !== STANDARD_OUTPUT && descriptor !== STANDARD_ERROR) return BAD_FILE_DESCRIPTOR;
    let total = 0;
    for (const buffer of this.#buffers(vectors, count)) {
      if (descriptor === STANDARD_OUTPUT) this.#output.push(buffer.slice());
      total += buffer.length;
    }
    this.#view().setUint32(writtenAt, total, true);
    return SUCCESS;
  };

  text(): string {
    return Buffer.concat(this.#output).toString("utf8");
  }

  #view(): DataView {
    if (this.#memory === null) throw new Error("the toolchain wrote before it had memory");
    return new DataView(this.#memory.buffer);
  }

  /** The pieces of memory that a WASI vector of (address, length) pairs names. */
  #buffers(vectors: number, count: number): readonly Uint8Array[] {
    const view = this.#view();
    return Array.from({ length: count }, (_, index) => {
      const at = vectors + index * 8;
      return new Uint8Array(view.buffer, view.getUint32(at, true), view.getUint32(at + 4, true));
    });
  }
}

async function run(module: WebAssembly.Module, { command, request }: Run): Promise<RunResult> {
  const Wasi = await loadWasi();
  // No folder is opened and no environment handed over: what runs can compute and answer, nothing
  // else.
  const wasi = new Wasi({
    version: "preview1",
    args: ["rego", command],
    env: {},
    preopens: {},
    returnOnExit: true,
  });
  const streams = new Streams(new TextEncoder().encode(request));
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: {
      ...wasi.wasiImport,
      fd_read: streams.fdRead,
      fd_write: streams.fdWrite,
    },
  });
  const { memory } = instance.exports;
  if (!(memory instanceof WebAssembly.Memory)) throw new Error("the artefact exports no memory");
  streams.use(memory);
  const status = wasi.start(instance);
  return status === 0 ? { ok: true, response: streams.text() } : { ok: false, error: null };
}

function failure(error: unknown): RunResult {
  return {
    ok: false,
    error: error instanceof ToolchainError ? { code: error.code, message: error.message } : null,
  };
}

if (parentPort !== null && typeof workerData === "string") {
  const port = parentPort;
  // Read and compiled on this thread, so that its 300 MB go when the thread ends.
  const artefact = readArtefact(new URL(workerData));
  // Every run reports it; without this line a damaged artefact would end the thread before the
  // first run.
  artefact.catch(() => {});
  port.on("message", (request: Run) => {
    artefact
      .then(({ module }) => run(module, request))
      .then(
        (result) => port.postMessage(result),
        (error: unknown) => port.postMessage(failure(error)),
      );
  });
}
