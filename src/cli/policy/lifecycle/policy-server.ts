import type { JsonObject } from "../../../canon/json.ts";
import {
  numberOf,
  objectOf,
  objectsOf,
  readAnswer,
  UnreadableAnswerError,
  type Answer,
  textOf,
} from "../../terminal/read-answer.ts";
import {
  callServer,
  serverKey,
  serverUrl,
  KEY_NOT_ACCEPTED,
  type ServerAnswer,
} from "../../terminal/call-server.ts";
import { CommandError, type CommandIo, UsageError } from "../../terminal/command-io.ts";
import { serverReport, type ServerReport } from "./promotion-report.ts";
import { type MISSING_REQUIREMENT, POLICY } from "../../../http/contract/policy-answers.ts";
import { POLICY_SHADOW } from "../../../http/contract/policy-shadow-schema.ts";

/** Address of a server unless a flag or variable gives another one. */
export const DEFAULT_SERVER = "http://127.0.0.1:8080";

/**
 * Longest wait for a simulation, milliseconds: a server takes a minute at most, for itself and for
 * each one before it.
 */
const SIMULATION_WAIT = 150_000;

/** Rows of the log in one answer. */
const PAGE = 500;

/** What can be done to a policy: a path below it. */
export type Change = "approvals" | "promotions" | "rollbacks" | "withdrawals" | "releases";

/** A policy as it is read for a person, and as the server sent it. */
interface Answered {
  readonly view: PolicyView;
  readonly json: JsonObject;
}

/**
 * The policies of a running server. Every method throws `CommandError` and `NotNowError` with
 * messages of the command line.
 */
export class PolicyServer {
  readonly #address: string;
  readonly #io: CommandIo;
  /**
   * `--server` as it was given, for commands to paste; `null` where the environment names it, or
   * nothing does.
   */
  readonly flag: string | null;

  /** @param flag the value of `--server`. */
  constructor(flag: string | undefined, io: CommandIo) {
    const named = io.environment["SIGNALBOX_SERVER"] ?? "";
    this.#address = flag ?? (named === "" ? DEFAULT_SERVER : named);
    this.#io = io;
    this.flag = flag ?? null;
  }

  list(query: Readonly<Record<string, string>>): Promise<JsonObject> {
    return this.#get("ID", "", query);
  }

  async policy(id: string): Promise<Answered> {
    const json = await this.#get(id, `/${id}`, {});
    return { view: parseView(json), json };
  }

  /** Something below a policy: `content`, `shadow`. */
  below(id: string, name: string, query: Readonly<Record<string, string>>): Promise<JsonObject> {
    return this.#get(id, `/${id}/${name}`, query);
  }

  /** All rows about a policy, oldest first, as the log has them. */
  async *transitions(id: string): AsyncGenerator<JsonObject> {
    for (let after = 0; ;) {
      const answer = await this.below(id, "transitions", {
        after: String(after),
        limit: String(PAGE),
      });
      if (answer["object"] !== "list" || !Array.isArray(answer["data"])) throw notPolicies();
      for (const row of objectsOf(answer, "data")) {
        const position = numberOf(row, "position") ?? 0;
        // Without the check, a server that repeats one page is read for ever.
        if (position <= after || objectOf(row, "record") === null) throw notPolicies();
        after = position;
        yield row;
      }
      if (answer["has_more"] !== true || answer["data"].length === 0) return;
    }
  }

  /** The server's own report on the promotion of a content. */
  async simulation(id: string, digest: string): Promise<ServerReport> {
    return serverReport(await this.#get(id, `/${id}/simulation`, { digest }, SIMULATION_WAIT));
  }

  /** @param etag where the change must meet the state that was looked at. */
  async change(
    id: string,
    change: Change,
    body: JsonObject,
    etag: string | null,
  ): Promise<Answered> {
    const inDoubt = `the change may or may not have been made; check: signalbox policy show ${id}`;
    const answer = await callServer({
      url: serverUrl(this.#address, `/v1/policies/${id}/${change}`),
      method: "POST",
      key: serverKey(this.#io, "operations:manage"),
      body,
      ...(etag !== null && { ifMatch: etag }),
      inDoubt,
      // The server simulates the promotion before it takes an approval with a report.
      ...(change === "approvals" && { wait: SIMULATION_WAIT }),
    });
    if (answer.status !== 200 && answer.status !== 201)
      throw refusal(answer, id, " Nothing was done.");
    try {
      return { view: parseView(answer.body), json: answer.body ?? {} };
    } catch {
      throw new CommandError(
        `--server: answered with ${answer.status}, but with no policy; ${inDoubt}`,
      );
    }
  }

  async #get(
    policy: string,
    path: string,
    query: Readonly<Record<string, string>>,
    wait?: number,
  ): Promise<JsonObject> {
    const url = serverUrl(this.#address, `/v1/policies${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const key = serverKey(this.#io, "governance:read or operations:manage");
    const answer = await callServer({
      url,
      method: "GET",
      key,
      ...(wait !== undefined && { wait }),
    });
    if (answer.status !== 200) throw refusal(answer, policy, "");
    if (answer.body === null) throw notPolicies();
    return answer.body;
  }
}

/** A policy as a server shows it. Its texts are safe for a terminal; `etag` is the server's own. */
export type PolicyView = Answer<typeof POLICY>;

export type SlotView = NonNullable<PolicyView["candidate"]>;

/**
 * A content of a policy, as people name it: a revision such as r4, and its lower-case hexadecimal
 * SHA-256.
 */
export type Content = Pick<SlotView, "revision" | "digest">;

export type ApprovalView = PolicyView["approvals"][number];

/** One thing that a promotion lacks. */
export type Missing = Answer<typeof MISSING_REQUIREMENT>;

/**
 * Reads a policy. @throws {CommandError} for what is none, or has contents that could not be named
 * in a command.
 */
export function parseView(answer: JsonObject | null): PolicyView {
  const etag = answer?.["etag"];
  // It goes back in a header as it is.
  if (
    answer?.["object"] !== "policy" ||
    typeof etag !== "string" ||
    !/^"[\x21\x23-\x7e]{1,200}"$/.test(etag)
  ) {
    throw notPolicies();
  }
  const view = readable(() => readAnswer(POLICY, answer));
  for (const { digest } of contentsOf(view))
    if (!/^[0-9a-f]{64}$/.test(digest)) throw notPolicies();
  return view;
}

/** Verdicts of a candidate in shadow. */
export type ShadowView = Answer<typeof POLICY_SHADOW>;

/** @throws {CommandError} where the answer has another form. */
export function parseShadow(answer: JsonObject): ShadowView {
  return readable(() => readAnswer(POLICY_SHADOW, answer));
}

function readable<View>(read: () => View): View {
  try {
    return read();
  } catch (error) {
    throw error instanceof UnreadableAnswerError ? notPolicies() : error;
  }
}

/** All contents that a view names. */
function contentsOf({
  enforced,
  candidate,
  rollback_to: before,
  files,
  held,
  withdrawn,
}: PolicyView): readonly Content[] {
  return [enforced, candidate, before, files, ...held, ...withdrawn].filter(
    (content) => content !== null,
  );
}

/**
 * The content that a row of the log names, where the revision is a number; `null` where it names
 * none.
 */
function recordedContent(record: JsonObject | null): Content | null {
  if (record?.["revision"] === undefined) return null;
  const { revision, digest } = record;
  if (!Number.isSafeInteger(revision) || Number(revision) < 0) throw notPolicies();
  if (typeof digest !== "string" || !/^[0-9a-f]{64}$/.test(digest)) throw notPolicies();
  return { revision: `r${Number(revision)}`, digest };
}

/** For an answer without policies. */
export function notPolicies(): CommandError {
  return new CommandError(
    "--server: the answer is not a policy answer of Signalbox; check the address",
  );
}

/**
 * Nothing is broken, and nothing was done: something is missing, or another change was first. Exit
 * code 3.
 */
export class NotNowError extends Error {
  override readonly name = "NotNowError";
}

/**
 * The error of an answer: the server's message and fix. @param policy id for the commands in the
 * fix. @param undone ends the message of a change.
 */
function refusal(
  { status, body }: ServerAnswer,
  policy: string,
  undone: string,
): CommandError | NotNowError {
  const error = objectOf(body, "error");
  const code = textOf(error, "code").slice(0, 64);
  const message = textOf(error, "message").slice(0, 500);
  const fix = textOf(error, "fix")
    .slice(0, 500)
    .replaceAll(/\bID\b/g, policy);
  const text = [message, fix].filter(Boolean).join(" ");
  if (status === 401) return new CommandError(KEY_NOT_ACCEPTED);
  if (status === 404 && !code.endsWith("_not_found")) {
    return new CommandError(
      "--server: has no /v1/policies (404); it is not Signalbox, is older than this command, or its address has another path",
    );
  }
  if (status === 409 || status === 412) return new NotNowError(`${text || code}${undone}`);
  if (status === 403 && text !== "") return new CommandError(`SIGNALBOX_KEY: ${text}`);
  const reason = [code && `, ${code}`, text && `: ${text}`].join("");
  return new CommandError(`--server: answered with ${status}${reason}`);
}

/**
 * The content that a name means: `enforced`, `candidate`, a revision such as r4, or the first
 * digits of a digest, six at least. `null`: the slot is empty.
 *
 * @param flag for messages.
 * @throws {UsageError} for what is none of these. @throws {CommandError} where the policy has no
 * such content.
 */
export async function findContent(
  server: PolicyServer,
  view: PolicyView,
  flag: string,
  name: string,
): Promise<Content | null> {
  if (name === "enforced" || name === "candidate") return view[name];
  const isRevision = /^r\d{1,9}$/.test(name);
  if (!isRevision && !/^[0-9a-f]{6,64}$/.test(name)) {
    throw new UsageError(
      `${flag}: must be enforced, candidate, a revision such as r4, or six or more digits of a digest`,
    );
  }
  const names = ({ revision, digest }: Content): boolean =>
    isRevision ? revision === `r${Number(name.slice(1))}` : digest.startsWith(name);
  const known = new Map<string, Content>();
  for (const content of contentsOf(view)) known.set(content.digest, content);
  // What stands nowhere any more is known to the log alone. A few digits must not be enough because
  // only some contents were looked at.
  const isSure = name.length === 64 || isRevision;
  if (!isSure || ![...known.values()].some(names)) {
    for await (const row of server.transitions(view.id)) {
      const content = recordedContent(objectOf(row, "record"));
      if (content !== null) known.set(content.digest, content);
    }
  }
  const [found, ...others] = [...known.values()].filter(names);
  if (found === undefined) {
    throw new CommandError(
      `${flag}: the policy has no such content; see: signalbox policy history ${view.id}`,
    );
  }
  if (others.length > 0)
    throw new CommandError(`${flag}: more than one content begins like this; give more digits`);
  return found;
}

/**
 * The content that `--digest` names, or the candidate.
 *
 * @throws {UsageError} for anything but digits of a digest: a slot may hold another content by now.
 * @throws {NotNowError} where there is no candidate.
 */
export async function requestedContent(
  server: PolicyServer,
  view: PolicyView,
  digest: string | undefined,
): Promise<Content> {
  if (digest !== undefined && !/^[0-9a-f]{6,64}$/.test(digest)) {
    throw new UsageError("--digest: must be 6 to 64 digits of a digest (0-9, a-f)");
  }
  const content =
    digest === undefined ? view.candidate : await findContent(server, view, "--digest", digest);
  if (content === null)
    throw new NotNowError("there is no candidate; name another content with --digest");
  return content;
}
