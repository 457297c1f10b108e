import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import { Recorder } from "../recorder.ts";
import type { Runtime } from "../runtime.ts";
import { commonHeaders, readClientRequestId } from "../heads.ts";
import { RefusalError } from "../refusal.ts";
import { internalError, printerAt, sendError, sendText } from "../send.ts";
import type { BundleFile } from "./bundle.ts";
import type { Console } from "./console-port.ts";
import {
  endSession,
  finishSignIn,
  showSession,
  startSession,
  startSignIn,
  type SessionCall,
} from "./session-endpoints.ts";

/**
 * Headers of every answer below `/console/`: the page loads nothing from elsewhere, runs nothing
 * that is not its own file, and is in no other page's frame. Names and values by turns.
 */
const PAGE_HEADERS: readonly string[] = [
  "content-security-policy",
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
];

const NOT_STORED: readonly string[] = ["cache-control", "no-store"];

const ASSETS = "/console/assets/";

/** Browsers request it of every page that names no icon, such as JSON; it is among the assets. */
const ICON = "/favicon.ico";

const NOT_BUILT = "The console's page has not been built here: npm run tool -- console\n";

/** Answers `GET /`, `GET /favicon.ico` and everything below `/console`. */
export async function serveConsole(
  runtime: Runtime,
  console: Console,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const common = [...commonHeaders(requestId, clientRequestId, []), ...PAGE_HEADERS];
  const visit = {
    runtime,
    console,
    incoming,
    response,
    common: [...common, ...NOT_STORED],
    requestId,
  };
  if (pathname === "/console/session" || pathname === "/console/session/end") {
    await answerSession(visit);
  } else if (pathname.startsWith("/console/oidc/")) {
    await answerSignIn(visit);
  } else if (pathname === "/") {
    sendText(response, 302, "", [...visit.common, "location", "/console/"], "text/plain");
  } else {
    await sendFile(console, incoming, response, pathname, common);
  }
}

async function sendFile(
  { bundle }: Console,
  { headers }: IncomingMessage,
  response: ServerResponse,
  pathname: string,
  common: readonly string[],
): Promise<void> {
  const built = await bundle();
  if (built === null)
    return sendText(response, 503, NOT_BUILT, [...common, ...NOT_STORED], "text/plain");
  const isIcon = pathname === ICON;
  if (!pathname.startsWith(ASSETS) && !isIcon)
    return sendBytes(response, built.page, headers, [...common, "cache-control", "no-cache"]);
  const asset = built.assets.get(pathname.slice((isIcon ? "/" : ASSETS).length));
  // Not the page: a script of an older build that is gone would be read as HTML.
  if (asset === undefined)
    return sendText(response, 404, "No such file\n", [...common, ...NOT_STORED], "text/plain");
  sendBytes(response, asset, headers, [
    ...common,
    "cache-control",
    isIcon ? "public, max-age=86400" : "public, max-age=31536000, immutable",
  ]);
}

function sendBytes(
  response: ServerResponse,
  { type, bytes, gzipped }: BundleFile,
  headers: IncomingMessage["headers"],
  common: readonly string[],
) {
  const isGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(
    headers["accept-encoding"] ?? "",
  );
  const body = isGzip ? gzipped : bytes;
  const encoding = isGzip ? ["content-encoding", "gzip"] : [];
  const own = [
    "vary",
    "accept-encoding",
    "content-type",
    type,
    "content-length",
    String(body.length),
  ];
  response.writeHead(200, [...common, ...encoding, ...own]);
  response.end(body);
}

interface Visit {
  readonly runtime: Runtime;
  readonly console: Console;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly common: readonly string[];
  readonly requestId: string;
}

/**
 * @param isRecorded the request signs somebody in. @param answer throws {@link RefusalError}.
 * @param fail sends an error.
 */
async function answerVisit(
  { runtime, console, incoming, requestId }: Visit,
  isRecorded: boolean,
  answer: (call: SessionCall, recorder: Recorder | null) => Promise<void>,
  fail: (error: ServiceError) => void,
) {
  const { snapshot, done } = runtime.snapshots.take();
  const recorder = isRecorded
    ? new Recorder(runtime, snapshot, "control", requestId, null, incoming.headers)
    : null;
  try {
    await answer({ runtime, console, snapshot, incoming }, recorder);
  } catch (cause) {
    const isRefusal = cause instanceof RefusalError;
    const error = isRefusal ? cause.answer : internalError();
    if (error === null) return;
    if (isRefusal) recorder?.recordRefusal(error);
    else recorder?.crashed(error);
    fail(error);
  } finally {
    recorder?.close();
    done();
  }
}

function answerSession(visit: Visit): Promise<void> {
  const { incoming, response, common, requestId } = visit;
  const isEnd = /^\/console\/session\/end(?:\?|$)/.test(incoming.url ?? "");
  const isPost = incoming.method === "POST";
  const fail = (error: ServiceError) =>
    sendError(response, printerAt("/console"), error, requestId, common);
  const answerCall = async (call: SessionCall, recorder: Recorder | null) => {
    const { json, cookie } = await (recorder !== null
      ? startSession(call, recorder)
      : isEnd && isPost
        ? endSession(call)
        : showSession(call));
    const headers = cookie === undefined ? common : [...common, "set-cookie", cookie];
    sendText(response, 200, JSON.stringify(json), headers);
  };
  return answerVisit(visit, isPost && !isEnd, answerCall, fail);
}

/** The browser is on its way: who reads the answer is a person, so it is a sentence. */
function answerSignIn(visit: Visit): Promise<void> {
  const { incoming, response, common, requestId } = visit;
  const isReturn = /^\/console\/oidc\/callback(?:\?|$)/.test(incoming.url ?? "");
  const fail = ({ status, message, code }: ServiceError) =>
    sendText(
      response,
      status,
      `${message}\n\n${code}, request id ${requestId}\n`,
      common,
      "text/plain; charset=utf-8",
    );
  const answerCall = async (call: SessionCall, recorder: Recorder | null) => {
    const { location, cookies } = await (recorder === null
      ? startSignIn(call)
      : finishSignIn(call, recorder));
    const set = cookies.flatMap((cookie) => ["set-cookie", cookie]);
    sendText(response, 302, "", [...common, ...set, "location", location], "text/plain");
  };
  return answerVisit(visit, isReturn, answerCall, fail);
}
