/**
 * A server cannot start, stop in order, or take new material. The message is for operators: it
 * names the flag or variable and the fix.
 */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** The flags that an address was given with. */
export interface AddressFlags {
  readonly host: string;
  readonly port: string;
}

const PUBLIC_FLAGS: AddressFlags = { host: "--host", port: "--port" };

/** Why a server could not be started, with the flag to change; for the `code` of Node's error. */
export function listenFailure(error: unknown, flags: AddressFlags = PUBLIC_FLAGS): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  const port: unknown = error instanceof Error ? Reflect.get(error, "port") : undefined;
  const portText = typeof port === "number" ? `port ${port}` : "the port";
  if (code === "EADDRINUSE") {
    return `${portText} is in use; stop the program that uses it, or choose another port with ${flags.port} (0: a free one)`;
  }
  if (code === "EACCES")
    return `no permission to listen on ${portText}; choose one above 1023 with ${flags.port}`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return `this machine does not have the address given with ${flags.host}`;
  }
  return typeof code === "string"
    ? `the server could not be started (${code})`
    : "the server could not be started";
}
