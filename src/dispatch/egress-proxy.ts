import { Socket } from "node:net";
import { Agent, buildConnector, Client, fetch, type RequestInit, type Response } from "undici";

/** As of a URL: an empty port is that of the scheme. */
type Target = Pick<URL, "protocol" | "hostname" | "port">;

/** Finds the forward proxy of a connection; `null`: it is made directly. */
export interface FindProxy {
  (target: Target): URL | null;
  /** The proxies in use: scheme, host and port, without credentials. */
  readonly origins: readonly string[];
  /**
   * The same for libraries that take variables of an environment, with the proxies' credentials.
   */
  readonly variables: Readonly<Record<"HTTPS_PROXY" | "HTTP_PROXY" | "NO_PROXY", string>>;
}

/**
 * Codes of errors of connections through a proxy. `auth`: it requires other credentials (407).
 * `failed`: it cannot be reached, or does not open the tunnel.
 */
export const PROXY_ERRORS = { auth: "SBX_PROXY_AUTH", failed: "SBX_PROXY_FAILED" } as const;

class ProxyError extends Error {
  readonly code: string;

  /** The proxy's and the client's messages are left out: they quote addresses. */
  constructor(failure: keyof typeof PROXY_ERRORS) {
    super(`proxy: ${failure}`);
    this.code = PROXY_ERRORS[failure];
  }
}

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; the lower-case name wins, as in curl
 * (https://curl.se/docs/manpage.html#ENVIRONMENT).
 *
 * @returns `null` where neither names a proxy.
 * @throws {TypeError} naming the variable whose value is no http or https URL; never its value,
 * which may hold a password.
 */
export function proxyFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): FindProxy | null {
  const read = (name: string) => environment[name.toLowerCase()] || (environment[name] ?? "");
  const proxyOf = (name: string): URL | null => {
    const text = read(name);
    if (text === "") return null;
    const url = URL.parse(text.includes("://") ? text : `http://${text}`);
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new TypeError(`${name}: not an http or https URL`);
    return url;
  };
  const [ofHttps, ofHttp] = [proxyOf("HTTPS_PROXY"), proxyOf("HTTP_PROXY")];
  // Unlike in curl, one of them serves both schemes: with the flag, no call may go out directly.
  const [secure, plain] = [ofHttps ?? ofHttp, ofHttp ?? ofHttps];
  if (secure === null || plain === null) return null;
  const exempt = read("NO_PROXY")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "");
  const find = (target: Target): URL | null => {
    const bare = target.hostname.toLowerCase().replace(/^\[|\]$/g, "");
    const isExempt = exempt.some((entry) => covers(entry, bare, portOf(target)));
    return isExempt ? null : target.protocol === "https:" ? secure : plain;
  };
  const variables = {
    HTTPS_PROXY: secure.href,
    HTTP_PROXY: plain.href,
    NO_PROXY: read("NO_PROXY"),
  };
  return Object.assign(find, { origins: [...new Set([secure, plain].map(originOf))], variables });
}

function portOf({ protocol, port }: Target) {
  return port || (protocol === "https:" ? "443" : "80");
}

function originOf(url: URL) {
  return `${url.protocol}//${url.hostname}:${portOf(url)}`;
}

/**
 * `example.com`, `.example.com` and `*.example.com` cover the name and all below it; `*` all; a
 * port limits an entry.
 */
function covers(entry: string, hostname: string, port: string): boolean {
  if (entry === "*") return true;
  const [, name = "", only] = /^\[?((?:[^:\]]*|[0-9a-f:.]*))\]?(?::(\d+))?$/.exec(entry) ?? [];
  const suffix = name.replace(/^\*?\./, "");
  if (suffix === "" || (only !== undefined && only !== port)) return false;
  return hostname === suffix || hostname.endsWith(`.${suffix}`);
}

/**
 * Opens a tunnel through the proxy (CONNECT, RFC 9110 §9.3.6) for plain http too, so that requests
 * and their credentials look the same to the provider.
 *
 * @param connect connects to the target over the tunnel's socket. @param timeout until the tunnel
 * stands, milliseconds.
 */
export function throughProxy(
  find: FindProxy,
  connect: buildConnector.connector,
  timeout: number,
): buildConnector.connector {
  return (options, callback) => {
    const proxy = find(options);
    if (proxy === null) return connect(options, callback);
    openTunnel(proxy, `${options.hostname}:${portOf(options)}`, timeout).then(
      (socket) => {
        if (options.protocol === "https:") connect({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: unknown) =>
        callback(error instanceof ProxyError ? error : new ProxyError("failed"), null),
    );
  };
}

/** `fetch` through the proxies. @param timeout for a connection, milliseconds. */
export function proxiedFetch(
  find: FindProxy,
  timeout: number,
): (url: string, options: RequestInit) => Promise<Response> {
  const dispatcher = new Agent({
    connect: throughProxy(find, buildConnector({ timeout }), timeout),
  });
  return (url, options) => fetch(url, { ...options, dispatcher });
}

async function openTunnel(proxy: URL, target: string, timeout: number) {
  const { origin, username, password } = proxy;
  const client = new Client(origin, { connect: { timeout } });
  const credentials = Buffer.from(
    `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
  ).toString("base64");
  const { statusCode, socket } = await client
    .connect({
      path: target,
      headers: {
        host: target,
        ...(username !== "" && { "proxy-authorization": `Basic ${credentials}` }),
      },
      signal: AbortSignal.timeout(timeout),
    })
    .catch((error: unknown) => {
      void client.destroy();
      throw error;
    });
  // The client has given its only connection away.
  void client.close();
  // RFC 9110 §9.3.6: any 2xx opens the tunnel.
  if (statusCode >= 200 && statusCode < 300 && socket instanceof Socket) return socket;
  socket.on("error", () => {}).destroy();
  throw new ProxyError(statusCode === 407 ? "auth" : "failed");
}
