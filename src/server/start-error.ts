/** A server cannot start, or cannot take new material. The message is for operators: it names the flag or variable and the fix. */
export class StartError extends Error {
  override readonly name = "StartError";
}
