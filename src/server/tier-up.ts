import { setFlagsFromString } from "node:v8";

/**
 * Calls of a function until V8 compiles it with Maglev and with TurboFan. V8's own numbers (400 and
 * 3,000) suit pages, whose code mostly runs once. A server runs the same few hundred functions for
 * each request: with those numbers it interpreted a part of them for its first 20,000 requests, and
 * compiled for so long that these cost half as much again.
 */
const MAGLEV = 100;
const TURBOFAN = 300;

/**
 * Keeps V8's young generation at its first size while a server starts. Loading the sources and the
 * configuration would make it grow to 20 MB and more, which a server without requests does not give
 * back.
 */
export function startSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * Has V8 compile hot functions after fewer calls, and its young generation grow to its full size in
 * two steps when requests come. By V8's own factor of 2 it stays small for thousands of requests,
 * which then cost up to 6 % more. Call it when a server has started: code that V8 has cached is
 * only used under the settings it was made with.
 */
export function tierUpEarly(): void {
  setFlagsFromString("--semi-space-growth-factor=16");
  setFlagsFromString(`--invocation-count-for-maglev=${MAGLEV}`);
  setFlagsFromString(`--invocation-count-for-turbofan=${TURBOFAN}`);
}
