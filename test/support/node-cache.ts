import { resolve } from "node:path";

/**
 * The environment of a process that runs our sources: what Node made of them once, all others load.
 * Some hundred processes of a test run would each spend half a second of a core on it, and several
 * on a busy machine.
 */
export const COMPILED = {
  NODE_COMPILE_CACHE: resolve(import.meta.dirname, "../../.signalbox/node-cache"),
} as const;
