import type { JsonObject } from "../../../canon/json.ts";
import { numberOf, objectOf, objectsOf } from "../../terminal/read-answer.ts";
import { callServer, serverKey, serverUrl } from "../../terminal/call-server.ts";
import { CommandError, type CommandIo } from "../../terminal/command-io.ts";
import { serverReport, type ServerReport } from "./promotion-report.ts";
import { refusal } from "./refusal.ts";
import { notPolicies, parseView, type PolicyView } from "./view.ts";

/** Address of a server unless a flag or variable gives another one. */
export const DEFAULT_SERVER = "http://127.0.0.1:8080";

/** Longest wait for a simulation, milliseconds: a server takes a minute at most, for itself and for each one before it. */
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

/** The policies of a running server. Every method throws `CommandError` and `NotNowError` with messages of the command line. */
export class PolicyServer {
  readonly #address: string;
  readonly #io: CommandIo;
  /** `--server` as it was given, for commands to paste; `null` where the environment names it, or nothing does. */
  readonly flag: string | null;

  /** @param flag the value of `--server`. */
  constructor(flag: string | undefined, io: CommandIo) {
    const named = io.environment["SIGNALBOX_SERVER"] ?? "";
    this.#address = flag ?? (named === "" ? DEFAULT_SERVER : named);
    this.#io = io;
    this.flag = flag ?? null;
  }

  list(query: Readonly<Record<string, string>>): Promise<JsonObject> {
    return this.#get(null, "", query);
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
      const answer = await this.below(id, "transitions", { after: String(after), limit: String(PAGE) });
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
  async change(id: string, change: Change, body: JsonObject, etag: string | null): Promise<Answered> {
    const inDoubt = `the change may or may not have been made; check: signalbox policy show ${id}`;
    const answer = await callServer({
      url: serverUrl(this.#address, `/v1/policies/${id}/${change}`),
      method: "POST",
      key: serverKey(this.#io, "operations:manage"),
      body,
      ...(etag === null ? {} : { ifMatch: etag }),
      inDoubt,
      // The server simulates the promotion before it takes an approval with a report.
      ...(change === "approvals" && { wait: SIMULATION_WAIT }),
    });
    if (answer.status !== 200 && answer.status !== 201) throw refusal(answer, { policy: id, changes: true });
    try {
      return { view: parseView(answer.body), json: answer.body ?? {} };
    } catch {
      throw new CommandError(`--server: answered with ${answer.status}, but with no policy; ${inDoubt}`);
    }
  }

  async #get(
    policy: string | null,
    path: string,
    query: Readonly<Record<string, string>>,
    wait?: number,
  ): Promise<JsonObject> {
    const url = serverUrl(this.#address, `/v1/policies${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const key = serverKey(this.#io, "governance:read or operations:manage");
    const answer = await callServer({ url, method: "GET", key, ...(wait !== undefined && { wait }) });
    if (answer.status !== 200) throw refusal(answer, { policy, changes: false });
    if (answer.body === null) throw notPolicies();
    return answer.body;
  }
}
