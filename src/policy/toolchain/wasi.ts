import type { WASI } from "node:wasi";

/** Loads node:wasi without its ExperimentalWarning; every other warning still comes through. */
export async function loadWasi(): Promise<typeof WASI> {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === "ExperimentalWarning" && String(warning).startsWith("WASI ")) return;
    Reflect.apply(emitWarning, undefined, [warning, ...rest]);
  };
  try {
    return (await import("node:wasi")).WASI;
  } finally {
    process.emitWarning = emitWarning;
  }
}
